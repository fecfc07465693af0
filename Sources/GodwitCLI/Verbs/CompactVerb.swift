import ArgumentParser
import Godwit
import GodwitJob
import GodwitModel

struct CompactVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Remove persistent history and free pages from a store.",
    discussion: """
      Writes the store anew with the same version, rows, keys, counters and external files, and exchanges the two in one \
      rename. After a kill the same command goes on. The status is 75 if another process has the store open, 73 if a job \
      has unfinished work on it, 65 if CloudKit mirrors it.
      """)

  @Argument(help: ArgumentHelp("The store.", valueName: "STORE"), completion: .file()) var store: String
  @Flag(name: .customLong("dry-run"), help: "Only say what there is to win.") var isDryRun = false
  @Flag(name: .customLong("keep-old"), help: "Keep the old store as Name~.ext.") var keepsOld = false
  @Flag(
    name: .customLong("mirrored"),
    help: "Compact a store that CloudKit mirrors too. Changes that it has not exported yet are never exported.")
  var acceptsMirror = false
  @Option(
    help: ArgumentHelp(
      "A compiled model of the store's version, for a store that does not carry its model.", valueName: "MODEL"),
    completion: .file())
  var model: String?
  @Flag(name: .customLong("undo"), help: "Take back an exchange that was interrupted, and remove the work folder.")
  var isUndo = false
  @OptionGroup var format: FormatOptions

  static var isForOutput: Bool { false }

  static var outputs: [OutputKind] { [.compact] }

  func validate() throws {
    if isUndo, isDryRun || keepsOld || acceptsMirror || model != nil || format.format == .json {
      throw ValidationError("'--undo' takes no other option")
    }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    if isUndo {
      let wasThere = try StoreCompaction(store: store).undo()
      session.output.write(wasThere ? "removed '\(store).godwit'\n" : "nothing to undo\n")
      return 0
    }
    var compaction = StoreCompaction(
      store: store, keepsOld: keepsOld, acceptsMirror: acceptsMirror, model: model)
    guard !isDryRun else { return try print(try compaction.plan(), in: session) }
    let (control, signals) = (MigrationControl(), StopSignals())
    signals.watch(stop: { control.stop(reason: $0) }, interrupt: {}, report: {})
    compaction.control = control
    do {
      let report = try compaction.run()
      signals.finish()
      return try print(report, in: session)
    } catch var error as GodwitError {
      signals.finish()
      guard signals.tell(in: &error) else { throw error }
      _ = GodwitCommand.report(error, in: session)
      signals.dieIfStopped()
      throw error
    }
  }

  private func print(_ report: CompactionReport, in session: CommandSession) throws -> Int32 {
    switch format.format {
    case .json: try session.print(json: report, as: .compact)
    case .text: session.output.write("\(report)\n")
    }
    return 0
  }
}
