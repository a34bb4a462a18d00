// Finds the names in generated code that `explain` accepts.

const KEYWORDS = new Set(
  `as async await bool box break char const continue crate dyn else enum extern f32 f64 false fn for i128 i16 i32 i64 i8
  if impl in isize let loop match mod move mut None Ok Option pub ref Result return self Self Some static str String
  struct super trait true type u128 u16 u32 u64 u8 unsafe use usize Vec where while`.split(/\s+/),
);

/**
 * Returns the names that the identifier at a position may have for `explain`, the most specific first.
 * @param {import("@codemirror/state").EditorState} state
 * @param {number} position
 * @returns {string[]}
 */
export function namesAt(state, position) {
  const line = state.doc.lineAt(position);
  const at = position - line.from;
  const word = [...line.text.matchAll(/\w+/g)].find(({ index, 0: text }) => index <= at && at <= index + text.length)?.[0];
  if (!word || KEYWORDS.has(word) || /^\d/.test(word) || line.text.trimStart().startsWith("//")) return [];
  const owner = ownerOf(state, line.number);
  return owner && owner !== word ? [`${owner}.${word}`, word, owner] : [word];
}

/**
 * Returns the struct or enum whose declaration contains a line as a field or variant.
 * @param {import("@codemirror/state").EditorState} state
 * @param {number} number
 */
function ownerOf(state, number) {
  const isMember = /^\s+(pub (r#)?\w+:|[A-Z]\w*\s*[({,=])/.test(state.doc.line(number).text);
  if (!isMember) return undefined;
  for (let above = number - 1; above > 0; above--) {
    const { text } = state.doc.line(above);
    const found = /^\s*(?:pub )?(?:struct|enum) (\w+)/.exec(text);
    if (found) return found[1];
    if (/^\s*}/.test(text)) return undefined;
  }
  return undefined;
}
