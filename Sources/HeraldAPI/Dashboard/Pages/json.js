// Finds the first error in a JSON text, because browsers report it differently, or not at all.

/// The first error as `{line, column, words}`; `null` if the text is valid JSON.
export function mistake(text) {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const reader = new Reader(text);
    try {
      reader.value();
      reader.space();
      reader.fail("the value ends here, but the text continues");
    } catch (words) {
      const before = text.slice(0, reader.place).split("\n");
      return { line: before.length, column: before.at(-1).length + 1, words };
    }
  }
}

class Reader {
  place = 0;
  constructor(text) { this.text = text; }

  fail(words) { throw words; }
  space() { this.skip(/[ \t\r\n]*/y); }

  skip(expression) {
    expression.lastIndex = this.place;
    const found = expression.exec(this.text);
    if (found) this.place += found[0].length;
    return found !== null;
  }

  take(character) {
    this.space();
    if (this.text[this.place] !== character) return false;
    this.place += 1;
    return true;
  }

  value() {
    this.space();
    if (this.place >= this.text.length) this.fail("a value is missing");
    if (this.take("{")) return this.members("}", () => this.member());
    if (this.take("[")) return this.members("]", () => this.value());
    if (this.text[this.place] === '"') return this.string();
    if (this.skip(/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.])/y) || this.skip(/(true|false|null)\b/y)) return;
    this.fail("this is no value: text needs quotation marks");
  }

  members(end, member) {
    if (this.take(end)) return;
    do member(); while (this.take(","));
    if (!this.take(end)) this.fail(`expected a comma or ${end}`);
  }

  member() {
    this.space();
    if (this.text[this.place] !== '"') this.fail("expected a name in quotation marks");
    this.string();
    if (!this.take(":")) this.fail("expected a colon after the name");
    this.value();
  }

  string() {
    this.place += 1;
    this.skip(/([^"\\\u0000-\u001f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y);
    if (this.text[this.place] === '"') this.place += 1;
    else this.fail(this.text[this.place] === "\\" ? "this escape does not exist" : "the text in quotation marks does not end");
  }
}
