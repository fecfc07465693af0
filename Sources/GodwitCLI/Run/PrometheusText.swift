import Foundation

/// Metrics in the text format that Prometheus reads, version 0.0.4.
struct PrometheusText {
  enum Kind: String {
    case counter, gauge
  }

  /// One value of a metric.
  struct Sample {
    var labels: [(name: String, value: String)]
    var value: Double

    init(_ value: Double, _ labels: [(name: String, value: String)] = []) {
      (self.value, self.labels) = (value, labels)
    }
  }

  /// The text so far.
  private(set) var text = ""

  /// Adds a metric, with its HELP and TYPE; nothing where it has no sample.
  ///
  /// - Parameters:
  ///   - name: With its unit in base units, and `_total` for a counter.
  ///   - labels: Those that every sample begins with.
  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, labels: [(name: String, value: String)] = [], _ samples: [Sample]
  ) {
    guard !samples.isEmpty else { return }
    text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      let pairs = (labels + sample.labels).map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
      text += name + (pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") + " \(Self.number(sample.value))\n"
    }
  }

  /// A backslash, a line feed and, in a label, a quote are escaped. Other controls are not for any reader.
  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: value).map(String.init) ?? "\(value)"
  }

  /// The value of a metric with one label of a file that was written before; nil where there is none. Whatever else the
  /// text holds is passed over.
  static func value(of name: String, label: (name: String, value: String), in text: String) -> Double? {
    let lead = "\(name){\(label.name)=\"\(escaped(label.value, quotes: true))\"} "
    for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix(lead) {
      let rest = line.dropFirst(lead.count).split(separator: " ", omittingEmptySubsequences: true)
      if let value = rest.first.flatMap({ Double($0) }), value.isFinite { return value }
    }
    return nil
  }
}
