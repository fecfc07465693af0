import Godwit
import GodwitModel

/// A trace for people.
struct TraceText {
  private let trace: ObjectTrace
  private let largeTexts: [ObjectTrace.LargeValue: String]

  /// - Parameter largeTexts: Texts for the values that were left in their stores.
  init(_ trace: ObjectTrace, largeTexts: [ObjectTrace.LargeValue: String] = [:]) {
    (self.trace, self.largeTexts) = (trace, largeTexts)
  }

  var text: String {
    var lines = trace.remarks.map { "note: \($0)" }
    lines.append("\(trace.object.uri), in the \(trace.side.rawValue)")
    if trace.associations.isEmpty { lines += properties(of: trace.object).map { "  " + $0 } }
    for association in trace.associations { lines += [""] + self.lines(association) }
    if !trace.gaps.isEmpty { lines.append("") }
    for gap in trace.gaps { lines.append("step \(gap.step): \(gap.uri): \(gap.message)") }
    return lines.map(\.onOneLine).joined(separator: "\n") + "\n"
  }

  private func lines(_ found: ObjectTrace.Association) -> [String] {
    var title = "step \(found.step), '\(found.sourceModel)' to '\(found.destinationModel)': mapping '\(found.mapping)'"
    if found.chunk > 0 { title += ", pass \(found.pass), chunk \(found.chunk) of \(found.chunks) (\(found.range))" }
    var lines = [title, "  from \(found.source.uri)"]
    lines += properties(of: found.source).map { "    " + $0 }
    for uri in found.merged { lines.append("   and \(uri), which has the same values of unique-by") }
    guard let destination = found.destination else {
      return lines + ["  to   \(found.destinationURI), which is not there: something deleted it after the run"]
    }
    lines.append("  to   \(destination.uri)")
    return lines + properties(of: destination, origins: found.origins).map { "    " + $0 }
  }

  /// A line for each property: name, value, and where it comes from.
  private func properties(of object: ObjectTrace.Object, origins: [String: String] = [:]) -> [String] {
    var values = object.attributes.mapValues { TracedValue(value: $0).text }
    for (name, value) in object.largeValues { values[name] = largeTexts[value] }
    for (name, uris) in object.relationships { values[name] = Self.list(uris) }
    let names = values.keys.sorted { Text($0) < Text($1) }
    let nameWidth = names.map(\.count).max() ?? 0
    let valueWidth = min(names.compactMap { values[$0]?.count }.max() ?? 0, 40)
    return names.map { name in
      let value = values[name] ?? ""
      guard let origin = origins[name] else { return "\(name.padded(to: nameWidth))  \(value)" }
      return "\(name.padded(to: nameWidth))  \(value.padded(to: valueWidth))  = \(origin)"
    }
  }

  /// The objects by entity and key, at most five.
  private static func list(_ uris: [String]) -> String {
    guard !uris.isEmpty else { return "none" }
    let shown = uris.prefix(5).map { $0.split(separator: "/").suffix(2).joined(separator: "/") }
    return shown.joined(separator: ", ") + (uris.count > 5 ? ", and \(uris.count - 5) more" : "")
  }
}
