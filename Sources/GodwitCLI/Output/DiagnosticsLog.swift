import GodwitModel

/// One line of `--log-format json`.
struct LogRecord: Encodable {
  let schemaVersion = OutputKind.version
  /// RFC 3339 in UTC.
  let time = Clock.stamp
  let level: String
  /// The job's name, once the manifest is read.
  let job: String?
  let message: String
  /// The exit status of an error.
  var status: Int32?
  /// The kind of failure in words that never change.
  var code: String?
  /// Why a command stopped at a checkpoint (75), as a code.
  var reasonCode: String?
  var location, site, cause, remedy, safe: String?
  /// The values of a debug message, by name.
  var values: [String: String]?

  var line: String? { try? JSONText.line(ofType: "log", self) }
}

extension LogRecord {
  init(_ error: GodwitError, job: String?) {
    self.init(level: "error", job: job, message: error.message)
    status = error.code.rawValue
    code = error.code.name
    reasonCode = error.stopReason?.rawValue
    location = error.location?.text
    (site, cause, remedy, safe) = (error.context, error.cause, error.remedy, error.safe)
  }
}

/// Errors, warnings and log lines of a session, as text or as JSON lines.
extension CommandSession {
  /// Writes a warning.
  func warn(_ message: String) { diagnostics.log("warning", message) }

  /// Warns of an error that leaves the exit status as it is.
  func warn(of error: GodwitError) { warn(error.message + (error.cause.map { ": \($0)" } ?? "")) }

  /// Writes an error.
  func write(_ error: GodwitError) {
    guard let settings = diagnostics.logSettings else {
      return diagnostics.write(
        [.init(text: "godwit:", role: .error), .init(text: " \(error)\n")], style: diagnostics.style)
    }
    guard let line = LogRecord(error, job: settings.job).line else { return }
    diagnostics.write(record: line)
  }
}

extension TextStream {
  /// The colours of the stream.
  var style: TerminalStyle { TerminalStyle(isTerminal: isTerminal) }

  /// Writes a message: `godwit: warning: text`, or the same as JSON.
  func log(_ level: String, _ message: String, values: [String: String] = [:]) {
    guard let settings = logSettings else {
      let pairs = values.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
      let lead = TerminalStyle.Span(text: "godwit: \(level):", role: level == "warning" ? .warning : .plain)
      return write([lead, .init(text: " \(message)\(pairs)".onOneLine + "\n")], style: style)
    }
    let record = LogRecord(
      level: level, job: settings.job, message: message, values: values.isEmpty ? nil : values)
    if let line = record.line { write(record: line) }
  }
}
