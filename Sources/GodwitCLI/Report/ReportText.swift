import GodwitModel

/// Numbers, times and tables of a report.
enum ReportText {
  /// `1,250,000`.
  static func number(_ value: Int64) -> String {
    let digits = String(value.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return value < 0 ? "\u{2212}" + text : text
  }

  /// `1.3 M`, for a place without room.
  static func short(_ value: Double) -> String {
    guard value.isFinite, value >= 1000 else { return "\(Int64(max(0, min(999, value.isFinite ? value : 0))))" }
    var (rest, unit) = (value, 0)
    let units = ["", " k", " M", " G", " T"]
    while rest >= 999.5, unit < units.count - 1 {
      rest /= 1000
      unit += 1
    }
    let tenths = (rest * 10).rounded() / 10
    return (tenths < 10 ? "\(tenths)" : "\(Int64(min(rest, 1e9).rounded()))") + units[unit]
  }

  /// `40 ms`, `1.4 s`, `45 s`, `12 min 3 s`, `3 h 5 min`.
  static func time(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds > 0 else { return "0 s" }
    if seconds < 0.9995 { return "\(Int64((seconds * 1000).rounded())) ms" }
    if seconds < 9.95 {
      let tenths = Int64((seconds * 10).rounded())
      return "\(tenths / 10).\(tenths % 10) s"
    }
    let whole = Int64(min(seconds, 1e12).rounded())
    if whole < 120 { return "\(whole) s" }
    if whole < 7200 { return "\(whole / 60) min \(whole % 60) s" }
    return "\(whole / 3600) h \(whole % 3600 / 60) min"
  }

  /// A number between attributes of SVG.
  static func place(_ value: Double) -> String {
    let hundredths = Int64((max(-1e6, min(1e6, value.isFinite ? value : 0)) * 100).rounded())
    return hundredths % 100 == 0 ? "\(hundredths / 100)" : "\(Double(hundredths) / 100)"
  }

  // MARK: Tables

  /// More rows are said, not shown.
  static let rowsMaximum = 5000

  /// A table that scrolls by itself where the page is narrow. There a table with sentences has a line for each cell, and
  /// keeps the roles of a table, which browsers take away from elements without the form of one.
  ///
  /// - Parameters:
  ///   - label: Its content, for people who hear it.
  ///   - numbers: The columns of numbers, from 0.
  ///   - prose: The column of sentences, which gets more room.
  static func table(
    _ label: String, _ heads: [String], numbers: Set<Int> = [], prose: Int? = nil, _ rows: [[Markup]]
  ) -> Markup {
    func role(_ name: String) -> String? { prose == nil ? nil : name }
    let head = heads.enumerated().map { index, text in
      Markup.element(
        "th", ["scope": "col", "role": role("columnheader"), "class": numbers.contains(index) ? "number" : nil],
        Markup(text: text))
    }
    let body = rows.prefix(rowsMaximum).map { row -> Markup in
      let cells = row.enumerated().map { index, cell -> Markup in
        let style = numbers.contains(index) ? "number" : index == prose ? "prose" : nil
        guard index > 0 else {
          return .element("th", ["scope": "row", "role": role("rowheader"), "class": style], cell)
        }
        let name = prose == nil || !heads.indices.contains(index) ? nil : heads[index]
        return .element("td", ["role": role("cell"), "class": style, "data-head": name], cell)
      }
      return .element("tr", ["role": role("row")], cells) + .line
    }
    var parts: [Markup] = [
      .element(
        "table", ["role": role("table")],
        [
          .element("thead", ["role": role("rowgroup")], [.element("tr", ["role": role("row")], head)]), .line,
          .element("tbody", ["role": role("rowgroup")], body),
        ])
    ]
    if rows.count > rowsMaximum {
      parts.append(.element("p", ["class": "soft"], Markup(text: "and \(rows.count - rowsMaximum) more rows")))
    }
    let style = prose == nil ? "wide" : "wide records"
    return .element("div", ["class": style, "role": "region", "aria-label": label, "tabindex": "0"], parts) + .line
  }

  /// A table behind a picture, which the reader opens.
  static func hidden(_ summary: String, _ content: Markup) -> Markup {
    .element("details", [:], [.element("summary", [:], Markup(text: summary)), content]) + .line
  }

  static func paragraph(_ text: String, soft: Bool = false) -> Markup {
    .element("p", ["class": soft ? "soft" : nil], Markup(text: text)) + .line
  }
}
