import Logging

/// Log lines on standard error: `godwit: debug: message key=value`, or JSON where that was asked for.
struct DiagnosticsLogHandler: LogHandler {
  let stream: TextStream
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
    stream.log("\(event.level)", "\(event.message)", values: all.mapValues { "\($0)" })
  }
}
