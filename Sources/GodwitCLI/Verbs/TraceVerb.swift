import ArgumentParser
import Godwit
import GodwitManifest
import GodwitStore

extension ObjectTrace.Side: ExpressibleByArgument {}

struct TraceVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "trace", abstract: "Show what an object was made of, or what became of it.",
    discussion: """
      Prints values of objects. Keys are computed again from the plan of the job, so that both stores have to be there. \
      Writes to neither.
      """)

  @OptionGroup var job: JobOptions

  @Argument(help: ArgumentHelp("An object, x-coredata://STORE/Entity/p1 or Entity/p1.", valueName: "URI"))
  var uri: String

  @Option(
    help: ArgumentHelp(
      "Where Entity/p1 is looked for; by default in the destination, then in the source.",
      valueName: "source|destination"))
  var side: ObjectTrace.Side?

  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.trace] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let migration = try job.loader(in: session, overrides: overrides.values()).job()
    try session.warnOfLogs(besideSourceOf: migration)
    let manager = MigrationManager(migration)
    try manager.trace(uri, in: side, leavingLarge: true) { trace, bytes in
      switch format.format {
      case .json: try print(trace, bytes, in: session)
      case .text:
        var texts: [ObjectTrace.LargeValue: String] = [:]
        let objects = [trace.object] + trace.associations.flatMap { [$0.source] + ($0.destination.map { [$0] } ?? []) }
        for value in objects.flatMap(\.largeValues.values) where texts[value] == nil {
          texts[value] = try TracedValue.text(of: value, bytes(value))
        }
        session.output.write(TraceText(trace, largeTexts: texts).text)
      }
    }
    return 0
  }

  /// Prints JSON with marks in the place of large values, which then come in pieces.
  private func print(
    _ trace: ObjectTrace, _ bytes: (ObjectTrace.LargeValue) throws -> StoredBytes, in session: CommandSession
  ) throws {
    let marks = LargeMarks()
    var rest = try JSONText.document(OutputDocument(.trace, TraceRecord(trace, marks)))[...]
    while let next = rest.firstRange(of: marks.beginning) {
      session.output.write(String(rest[..<next.lowerBound]))
      rest = rest[next.upperBound...]
      guard let end = rest.firstIndex(of: "\""), let number = Int(rest[..<end]) else { continue }
      rest = rest[rest.index(after: end)...]
      let value = marks.values[number]
      try LargeText(bytes: bytes(value), isText: value.content.isText).write(
        as: .jsonl, data: ("\"", "\""), invalid: ("{ \"@base64\" : \"", "\" }")
      ) { session.output.write($0) }
    }
    session.output.write(rest + "\n")
  }
}
