"""Codes of languages (ISO 639-1) and their English names."""

LANGUAGES = {
    **{"ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek"},
    **{"en": "English", "es": "Spanish", "et": "Estonian", "fi": "Finnish", "fr": "French", "hi": "Hindi"},
    **{"hu": "Hungarian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish"},
    **{"pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "tr": "Turkish"},
    **{"uk": "Ukrainian", "zh": "Chinese"},
}
