import GodwitModel
import Testing

/// A wrong file and the complaint it earns.
struct Broken: Sendable, CustomTestStringConvertible {
  var text: String
  var line: Int
  var column: Int
  var fragment: String
  /// The text that the remedy must contain.
  var remedy: String
  var testDescription: String { fragment }

  init(_ text: String, _ line: Int, _ column: Int, _ fragment: String, _ remedy: String = "") {
    self.text = text
    self.line = line
    self.column = column
    self.fragment = fragment
    self.remedy = remedy
  }
}

private let head = "godwit-mapping: 1\nentity-mappings:\n  - name: A\n"

@Suite struct `Broken files` {
  private static func destined(_ value: String) -> String { "godwit: 1\nsource: a\ndestination: \(value)\nmodels: m\n" }

  static let jobs = [
    Broken("", 1, 1, "found an empty file", "destination: out/App.sqlite"),
    Broken("# nothing\n", 1, 1, "found an empty file"),
    Broken("- a\n", 1, 1, "expected keys and values, found a list"),
    Broken("hello\n", 1, 1, "expected keys and values, found 'hello'"),
    Broken("source: a\n", 1, 1, "expected 'godwit: 1', found no key 'godwit'"),
    Broken("source: a\ngodwit: 2\n", 2, 9, "expected format version 1 for 'godwit', found '2'"),
    Broken("godwit: \"1\"\n", 1, 9, "expected format version 1"),
    Broken("godwit:\n", 1, 8, "found no value"),
    Broken("# x\ngodwit: 1\nsource: a\nmodels: m\n", 2, 1, "expected the key 'destination'"),
    Broken("godwit: 1\ndestination: a\nmodels: m\n", 1, 1, "expected the key 'source'"),
    Broken("godwit: 1\nsource: a\ndestination: b\n", 1, 1, "expected the key 'models'"),
    Broken(
      required + "destinaton-model: x\n", 5, 1, "unknown key 'destinaton-model' (did you mean 'destination-model'?)"),
    Broken(required + "zzzzzzzzzzzzz: x\n", 5, 1, "unknown key 'zzzzzzzzzzzzz'"),
    Broken(required + "chunks: {row: 5}\n", 5, 10, "unknown key 'row' in 'chunks' (did you mean 'rows'?)"),
    Broken(required + "chunks: {rows: 0}\n", 5, 16, "expected a whole number from 1 to 10000000 for 'rows', found '0'"),
    Broken(required + "chunks: {rows: 10000001}\n", 5, 16, "for 'rows'"),
    Broken(required + "chunks: {rows: 99999999999999999999999}\n", 5, 16, "for 'rows'"),
    Broken(
      required + "chunks: 5\n", 5, 9, "expected keys and values for 'chunks', found '5'", "write `chunks: {rows: 5}`"),
    Broken(required + "memory: 64\n", 5, 9, "expected a size with its unit for 'memory'", "write `memory: 64 MiB`"),
    Broken(
      required + "mappings: lightweight\n", 5, 11, "expected auto, inferred, models-only or paths",
      "write `mappings: inferred`"),
    Broken("SQLite format 3\0\u{1}", 1, 1, "found a SQLite database", "godwit: 1"),
    Broken("<?xml version=\"1.0\"?>", 1, 1, "found an XML file", "godwit: 1"),
    Broken("# x\ngodwit-mapping: 1\n", 2, 1, "found a mapping file", "mappings: "),
    Broken(required + "chunks:\n  by:\n    A: []\n", 7, 8, "expected a predicate for 'A', found an empty list"),
    Broken(
      required + "chunks:\n  by:\n    A: [x == 1, '']\n", 7, 17, "expected a predicate for 'A', found an empty text"),
    Broken(required + "memory: 1 MiB\n", 5, 9, "expected at least 16 MiB for 'memory', found '1 MiB'"),
    Broken(required + "memory: 2000 GiB\n", 5, 9, "expected at most 1 TiB"),
    Broken(required + "memory: 99999999999999999999 MiB\n", 5, 9, "expected a size such as 64 MiB"),
    Broken(required + "memory: -5\n", 5, 9, "expected a size such as 64 MiB"),
    Broken(required + "memory: much\n", 5, 9, "expected a size such as 64 MiB for 'memory', found 'much'"),
    Broken(
      required + "on-invalid: ignore\n", 5, 13, "expected fail, keep or {quarantine: {max-rows: N}} for 'on-invalid'",
      "write fail, keep or {quarantine: {max-rows: N}}"),
    Broken(
      required + "on-invalid: quarantine\n", 5, 13, "for 'on-invalid', found 'quarantine'",
      "`on-invalid: {quarantine: {max-rows: N}}`"),
    Broken(required + "on-invalid: [fail]\n", 5, 13, "expected fail, keep or {quarantine: {max-rows: N}}"),
    Broken(required + "on-invalid: {quarantine: 5}\n", 5, 26, "expected {max-rows: N} for 'quarantine', found '5'"),
    Broken(required + "on-invalid: {quarantine: {}}\n", 5, 14, "expected 'max-rows' or 'max-percent'"),
    Broken(required + "on-invalid: {quarantine: {max-percent: 101}}\n", 5, 40, "for 'max-percent', found '101'"),
    Broken(required + "on-invalid: {quarantine: {max-percent: nan}}\n", 5, 40, "for 'max-percent', found 'nan'"),
    Broken(required + "on-invalid: {quarantine: {max-rows: -1}}\n", 5, 37, "for 'max-rows', found '-1'"),
    Broken(required + "append: yes\n", 5, 1, "unknown key 'append'"),
    Broken(required + "keep-old: true\n", 5, 1, "unknown key 'keep-old'"),
    Broken(destined("{existing: replace}"), 3, 1, "expected the key 'path' or 'existing: in-place'"),
    Broken(destined("{}"), 3, 1, "expected the key 'path' or 'existing: in-place'"),
    Broken(destined("{path: b, existing: in-place}"), 3, 15, "found both"),
    Broken(destined("{path: b, keep-old: true}"), 3, 24, "beside 'keep-old', found 'fail'"),
    Broken(destined("{path: b, existing: append, keep-old: false}"), 3, 42, "beside 'keep-old', found 'append'"),
    Broken(
      destined("{path: b, existing: overwrite}"), 3, 34, "expected fail or replace or append or in-place for 'existing'"
    ),
    Broken(destined("{path: b, exiting: fail}"), 3, 24, "(did you mean 'existing'?)"),
    Broken(destined("[b]"), 3, 14, "expected a path for 'destination', found a list"),
    Broken(
      "godwit: 1\nsource: [a.sqlite, b.sqlite]\ndestination: \"{name}.out\"\nmodels: m\n", 2, 1,
      "a pattern, {list: FILE} or {merge: [PATH, PATH]} for 'source', found a list", "`source: {list: FILE}`"),
    Broken(
      "godwit: 1\nsource: \"x/{a,b}.sqlite\"\ndestination: \"{name}.out\"\nmodels: m\n", 3, 15,
      "found 'x/{a,b}.sqlite'", "write `[ab]` for one of several characters"),
    Broken(required + "mappings: [a, auto]\n", 5, 15, "found 'auto'"),
    Broken(required + "mappings: {a: b}\n", 5, 11, "expected a path or a list for 'mappings', found keys and values"),
    Broken(required + "job:\n", 5, 5, "expected a name for 'job', found no value"),
    Broken(required + "job: a/b\n", 5, 6, "without slashes"),
    Broken(required + "version-order: [a, b, \"a\"]\n", 5, 24, "the version 'a' is listed twice"),
    Broken(required + "stages:\n  - before: x\n", 6, 5, "expected the key 'step'"),
    Broken(required + "source: c\n", 2, 1, "the key 'source' is listed twice"),
    Broken(required + "\tjob: x\n", 5, 1, "expected spaces, found a tab"),
    Broken(required + "---\ngodwit: 1\n", 5, 1, "expected one document, found another"),
    Broken(required + "job: *none\n", 5, 6, "found undefined alias"),
    Broken(required + "job: [a\n", 5, 6, "cannot read job manifest"),
    Broken(required + "job: \"a\n", 5, 6, "cannot read job manifest"),
    Broken(
      "godwit: 1\nsource: &a k\nchunks: {by: {*a : p, *a : q}}\n", 3, 15, "the key '*a' is listed twice"),
    Broken(required + "? [a]\n: b\n", 5, 3, "expected a name as key, found a list"),
    Broken(required + "<<: {job: x}\n", 5, 1, "merge keys"),
    Broken("é: 1\ngodwit: 1\nmodels: { é: ü, x: 1 }\nsource: a\ndestination: b\n", 1, 1, "unknown key 'é'"),
    Broken(required + "chunks: { rows: &é 5 }\n", 5, 18, "anchor"),
    Broken(required + "chunks: { by: { é: a, ü: [] } }\n", 5, 28, "found an empty list"),
    Broken(required.replacing("b.sqlite", with: "./a.sqlite"), 3, 14, "found the same one"),
    Broken(required.replacing("M.xcdatamodeld", with: "'#V1'"), 4, 9, "expected a path for 'models'"),
    Broken(required + "configuration: a\u{7}b\n", 5, 17, "found a control character"),
    Broken(required + "configuration: a\u{0}b\n", 5, 17, "found a control character"),
    Broken(required + "configuration: é\u{85}\u{9F}\n", 5, 20, "found a control character"),
  ]

  static let mappings = [
    Broken("entity-mappings: []\n", 1, 1, "expected 'godwit-mapping: 1'"),
    Broken("godwit-mapping: 3\n", 1, 17, "expected format version 1"),
    Broken("godwit: 1\n", 1, 1, "expected a mapping file, found a job manifest", "godwit mapping new"),
    Broken("godwit-mapping: 1\n", 1, 1, "expected the key 'entity-mappings'"),
    Broken("godwit-mapping: 1\nentity-mapping: []\n", 2, 1, "(did you mean 'entity-mappings'?)"),
    Broken("godwit-mapping: 1\nentity-mappings: {}\n", 2, 18, "expected a list for 'entity-mappings'"),
    Broken("godwit-mapping: 1\nentity-mappings: [a]\n", 2, 19, "expected a mapping with a name"),
    Broken("godwit-mapping: 1\nentity-mappings:\n  - source: A\n", 3, 5, "expected the key 'name'"),
    Broken(head + "  - name: B\n  - name: \"A\"\n", 5, 12, "two mappings of the file are named 'A'"),
    Broken(head + "    type: move\n", 4, 11, "expected add or remove or copy or transform or custom"),
    Broken(head + "    type: transfrom\n", 4, 11, "(did you mean 'transform'?)"),
    Broken(head + "    sorce: B\n", 4, 5, "unknown key 'sorce' in 'entity-mappings' (did you mean 'source'?)"),
    Broken(head + "    filter: ''\n", 4, 13, "expected a predicate for 'filter', found an empty text"),
    Broken(head + "    filter:\n", 4, 12, "expected a predicate for 'filter', found no value"),
    Broken(head + "    filter: age >=\n", 4, 19, "filter of mapping 'A': "),
    Broken(head + "    filter: (age > 3\n", 4, 21, "filter of mapping 'A': "),
    Broken(head + "    attributes:\n      age:\n", 5, 11, "expected an expression for 'age', found no value"),
    Broken(head + "    attributes:\n      age: [1]\n", 5, 12, "expected an expression for 'age', found a list"),
    Broken(head + "    attributes:\n      age: 1 +* 2\n", 5, 15, "attribute 'age' of mapping 'A': "),
    Broken(head + "    attributes:\n      age: '1 +* 2'\n", 5, 16, "attribute 'age' of mapping 'A': "),
    Broken(head + "    attributes:\n      age: &x  '1 +* 2'\n", 5, 20, "attribute 'age' of mapping 'A': "),
    Broken(
      head + "    attributes:\n      age: |\n        1 +\n         * 2\n", 7, 10, "attribute 'age' of mapping 'A': "),
    Broken(head + "    attributes: [age]\n", 4, 17, "expected keys and values for 'attributes'"),
    Broken(head + "    attributes: {a: 1, a: 2}\n", 4, 18, "the key 'a' is listed twice"),
    Broken(head + "    relationships: {r: {}}\n", 4, 21, "expected the key 'mapping' or 'source-relationship'"),
    Broken(head + "    relationships: {r: {key-path: a}}\n", 4, 21, "expected the key 'mapping'"),
    Broken(head + "    relationships: {r: {mapping: A, source-relationship: b}}\n", 4, 25, "found 'mapping' beside it"),
    Broken(head + "    relationships: {r: {mapping: A, key-path: a..b}}\n", 4, 47, "expected a key path"),
    Broken(head + "    relationships: {r: {mapping: A, key-path: $x.b}}\n", 4, 47, "expected a key path"),
    Broken(
      head + "    relationships: {r: {maping: A}}\n", 4, 25, "unknown key 'maping' in 'r' (did you mean 'mapping'?)"),
    Broken(head + "    relationships: {r: [a]}\n", 4, 24, "or an expression for 'r', found a list"),
    Broken(head + "    relationships: {r: 'FUNCTION('}\n", 4, 34, "relationship 'r' of mapping 'A': "),
    Broken(head + "    unique-by: []\n", 4, 16, "found an empty list"),
    Broken(head + "    user-info: {a: [b]}\n", 4, 20, "expected text for 'a'"),
  ]

  @Test(arguments: jobs) func `a wrong manifest is 78 with its place`(broken: Broken) throws {
    try check(broken, mapping: false)
  }

  @Test(arguments: mappings) func `a wrong mapping file is 78 with its place`(broken: Broken) throws {
    try check(broken, mapping: true)
  }

  private func check(_ broken: Broken, mapping: Bool) throws {
    let error = try #require(try complaint(of: broken.text, mapping: mapping))
    #expect(error.code == .configuration)
    #expect(error.location?.line == broken.line && error.location?.column == broken.column, "\(error)")
    #expect(error.message.contains(broken.fragment), "\(error)")
    #expect(error.remedy?.contains(broken.remedy) == true || broken.remedy.isEmpty && error.remedy != nil, "\(error)")
  }

  @Test func `a manifest that is not text is 78`() throws {
    let bytes = Array(required.utf8) + [0x6A, 0x3A, 0x20, 0xC3, 0x28]
    let error = try #require(try complaint(of: bytes))
    #expect(error.code == .configuration && error.location?.line == 5 && error.location?.column == 4, "\(error)")
    #expect(error.message.contains("UTF-8"))
  }

  @Test func `a byte order mark before YAML is skipped`() throws {
    #expect(try complaint(of: [0xEF, 0xBB, 0xBF] + Array(required.utf8)) == nil)
  }
}
