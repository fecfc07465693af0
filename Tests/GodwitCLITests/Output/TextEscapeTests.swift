import Foundation
import Testing

@testable import GodwitCLI

/// Control characters on their way to a terminal.
struct TextEscapeTests {
  @Test(arguments: [
    ("plain\ttext\n", "plain\ttext\n"), ("größer – ‘x’ شكرا 🙂", "größer – ‘x’ شكرا 🙂"),
    ("a\u{1B}[2Kb\rc", "a\\u001B[2Kb\\u000Dc"), ("\u{0}\u{7F}\u{9B}\u{85}", "\\u0000\\u007F\\u009B\\u0085"),
    ("x\u{202E}y\u{2066}z\u{2069}\u{200F}\u{61C}", "x\\u202Ey\\u2066z\\u2069\\u200F\\u061C"),
    ("line\r\nline\r\n", "line\r\nline\r\n"),
  ]) func `control characters in output are made visible`(text: String, expected: String) {
    #expect(TextEscape.escaped(text) == expected)
    let stream = TextStream.memory()
    stream.write(text)
    stream.write(control: "\u{1B}[K")
    #expect(stream.text == expected + "\u{1B}[K")
  }

  @Test func `output for programs is not escaped`() {
    let stream = TextStream.memory()
    stream.write(data: "שלום\u{200F}")
    #expect(stream.text == "שלום\u{200F}")
  }

  @Test func `escaped JSON has the same meaning`() throws {
    let text = "a\u{1B}\u{7F}\u{9B}\u{202E}\u{2066}\"\\\n\r\u{200E}"
    let escaped = TextEscape.escaped(try JSONText.document([text]))
    #expect(try JSONDecoder().decode([String].self, from: Data(escaped.utf8)) == [text])
    #expect(!escaped.unicodeScalars.contains { $0.value == 0x202E || $0.value < 0x20 && $0 != "\n" })
  }

  @Test func `no name can hide a line of output`() throws {
    let job = try BreakableJob()
    let name = "x\\u001b[1A\\u001b[2K\\u202ey"
    try job.edit("job.yaml", "godwit: 1\n", "godwit: 1\njob: \"\(name)\"\n")
    try job.edit("library.mapping.yaml", "name: AuthorToAuthor", "name: \"\(name)\"")
    try job.edit("library.mapping.yaml", "mapping: AuthorToAuthor", "mapping: \"\(name)\"")
    func isClean(_ text: String) -> Bool {
      !text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" && $0 != "\t" || $0.value == 0x202E }
    }
    for arguments in [
      ["plan", "job.yaml"], ["plan", "job.yaml", "--format", "json"], ["run", "job.yaml", "-v"],
      ["status", "job.yaml"],
    ] {
      let result = try BuiltCommand.run(arguments, in: job.path)
      #expect(result.status == 0, "\(result.diagnostics)")
      #expect(isClean(result.output) && isClean(result.diagnostics), "\(arguments)")
    }
    try job.remove("out")
    try job.edit("library.mapping.yaml", "source: Author\n", "source: \"A\\u001b[2K\"\n")
    let failed = try BuiltCommand.run("plan", "job.yaml", in: job.path)
    #expect(failed.status == 78)
    #expect(isClean(failed.diagnostics) && failed.diagnostics.contains("\\u001B[2K"), "\(failed.diagnostics)")
  }
}
