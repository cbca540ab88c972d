// Colours for keywords, strings, numbers and comments: enough to find one's way in a few lines.

import { h } from "./dom";

const PYTHON = new Set(
  ("False None True and as assert async await break case class continue def del elif else except " +
    "finally for from global if import in is lambda match nonlocal not or pass raise return try " +
    "while with yield self cls").split(" "),
);
const C = new Set(
  ("auto bool break case char const constexpr continue default do double else enum extern false fn " +
    "float for goto if impl inline int let long mut namespace new nullptr pub return short signed " +
    "sizeof static struct switch template this true typedef union unsigned use using virtual void " +
    "volatile while class delete match").split(" "),
);
const TOKEN =
  /("""|'''|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(#.*|\/\/.*)|(\/\*.*?(?:\*\/|$))|([A-Za-z_]\w*)|(\d[\w.]*)/g;

export type Language = "python" | "c" | "none";

export function languageOf(path: string): Language {
  if (/\.pyi?$/.test(path)) return "python";
  return /\.(c|h|cc|cpp|cxx|hh|hpp|hxx|rs)$/.test(path) ? "c" : "none";
}

function part(kind: string, text: string): Node {
  return kind ? h("span", { class: `code-${kind}` }, text) : document.createTextNode(text);
}

/** Lines as nodes; a string or comment may go on from one line to the next. */
export class Highlighter {
  private open = "";

  constructor(private readonly language: Language) {}

  line(text: string): Node[] {
    if (this.language === "none") return [document.createTextNode(text)];
    const nodes: Node[] = [];
    let at = 0;
    if (this.open) {
      const end = text.indexOf(this.open);
      const kind = this.open === "*/" ? "comment" : "string";
      if (end < 0) return [part(kind, text)];
      at = end + this.open.length;
      this.open = "";
      nodes.push(part(kind, text.slice(0, at)));
    }
    const words = this.language === "python" ? PYTHON : C;
    TOKEN.lastIndex = at;
    for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
      let [token] = match;
      if (match.index > at) nodes.push(part("", text.slice(at, match.index)));
      let kind = "";
      if (match[1]) {
        kind = "string";
        if (this.language === "python" && (token === '"""' || token === "'''")) {
          const end = text.indexOf(token, match.index + 3);
          if (end < 0) this.open = token;
          token = end < 0 ? text.slice(match.index) : text.slice(match.index, end + 3);
        }
      } else if (match[2]) {
        const own = this.language === "python" ? "#" : "/";
        kind = token.startsWith(own) ? "comment" : "";
        if (!kind) {
          token = token[0];
        }
      } else if (match[3]) {
        if (this.language === "c") {
          kind = "comment";
          if (!token.endsWith("*/")) this.open = "*/";
        } else token = token[0];
      } else if (match[4]) kind = words.has(token) ? "keyword" : "";
      else if (match[5]) kind = "number";
      nodes.push(part(kind, token));
      at = match.index + token.length;
      TOKEN.lastIndex = at;
    }
    if (at < text.length) nodes.push(part("", text.slice(at)));
    return nodes;
  }
}
