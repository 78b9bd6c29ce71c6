// Stands for the modules `fs` and `module` of Node, which sentencepiece names and a browser does not have.
export const readFileSync = undefined;
