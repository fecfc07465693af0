import GodwitCLI
import Testing

@Test(arguments: [("3h", 10800), ("90m", 5400), ("45s", 45), ("1h30m", 5400), ("1h0m1s", 3601), ("2m3s", 123)])
func `--max-duration takes hours, minutes and seconds in that order`(text: String, seconds: Int) {
  #expect(TimeBox(argument: text)?.seconds == seconds)
}

@Test(arguments: [
  "", "0s", "3", "h", "30m1h", "1h1h", "-1h", "1.5h", "1 h", "1d", "99999999999999999999h", "9223372036854775807h",
  "١h",
])
func `--max-duration refuses what is not a duration`(text: String) {
  #expect(TimeBox(argument: text) == nil)
}

@Test(arguments: [
  ("0s", "expected at least 1s"), ("0h0m", "expected at least 1s"), ("1ms", "such as 3h, 90m, 45s or 1h30m"),
  ("soon", "such as 3h, 90m, 45s or 1h30m"), ("10", "such as 3h, 90m, 45s or 1h30m"),
])
func `a refused --max-duration says what is accepted`(text: String, fragment: String) throws {
  let refusal = #expect(throws: TimeBox.Refusal.self) { _ = try TimeBox.parse(text) }
  #expect(refusal?.description.contains(fragment) == true)
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  #expect(GodwitCommand.run(arguments: ["run", "job.yaml", "--max-duration", text], in: session) == 64)
  #expect(session.diagnostics.text.contains(fragment), "\(session.diagnostics.text)")
}
