import Logging

/// Log lines on standard error: `godwit: debug: message key=value`.
struct DiagnosticsLogHandler: LogHandler {
  let stream: TextStream
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info

  init(stream: TextStream) { self.stream = stream }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
    let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    stream.write("godwit: \(event.level): \(event.message)\(pairs)\n")
  }
}
