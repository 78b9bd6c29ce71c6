"""Questions about stories: `QuestionAnswerer` and its training."""
