/// Dates as text for people and programs.
package enum DateText {
  /// ISO 8601 in UTC with microseconds, by the Gregorian calendar at all times; years beyond four digits carry a sign.
  ///
  /// A date too far for a calendar is given as seconds since 2001, as stored.
  package static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return seconds.description }
    var whole = Int64(seconds.rounded(.down))
    var microseconds = Int64(((seconds - seconds.rounded(.down)) * 1_000_000).rounded())
    if microseconds == 1_000_000 { (whole, microseconds) = (whole + 1, 0) }
    // Days since 0000-03-01, where a leap day ends the year: 2001-01-01 is day 730 791.
    let dayOfReference = whole >= 0 ? whole / 86_400 : -((-whole + 86_399) / 86_400)
    let secondOfDay = whole - dayOfReference * 86_400
    let day = dayOfReference + 730_791
    let era = (day >= 0 ? day : day - 146_096) / 146_097
    let dayOfEra = day - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let yearText = (0...9999).contains(year) ? digits(year, 4) : (year < 0 ? "-" : "+") + digits(abs(year), 6)
    return yearText + "-" + digits(month < 10 ? month + 3 : month - 9, 2) + "-" + digits(dayOfMonth, 2) + "T"
      + digits(secondOfDay / 3600, 2) + ":" + digits(secondOfDay / 60 % 60, 2) + ":" + digits(secondOfDay % 60, 2) + "."
      + digits(microseconds, 6) + "Z"
  }
}
