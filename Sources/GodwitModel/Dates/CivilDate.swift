/// A day of the Gregorian calendar, which is taken to have been in use at all times.
struct CivilDate: Hashable {
  /// Years before 1 are 0, -1 and so on.
  let year: Int
  /// From 1.
  let month, day: Int

  /// Days from 0000-03-01 to 2001-01-01. A year that begins in March has its leap day at the end.
  private static let reference = 730_791

  init(year: Int, month: Int, day: Int) { (self.year, self.month, self.day) = (year, month, day) }

  init(daysSince2001 days: Int) {
    let number = days + Self.reference
    let era = (number >= 0 ? number : number - 146_096) / 146_097
    let dayOfEra = number - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    self.init(
      year: yearOfEra + era * 400 + (month >= 10 ? 1 : 0), month: month < 10 ? month + 3 : month - 9,
      day: dayOfYear - (153 * month + 2) / 5 + 1)
  }

  var daysSince2001: Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.reference
  }

  /// Whether the calendar has the day.
  var exists: Bool { (1...12).contains(month) && day >= 1 && day <= daysInMonth }

  private var daysInMonth: Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension [UInt8] {
  /// Appends a number that is not negative, with zeros in front of it up to a width.
  mutating func append(_ number: Int, width: Int) {
    if width == 2, number < 100 {
      append(0x30 + UInt8(number / 10))
      return append(0x30 + UInt8(number % 10))
    }
    var (limit, digits) = (10, 1)
    while number >= limit, digits < 18 { (limit, digits) = (limit * 10, digits + 1) }
    for _ in 0..<Swift.max(0, width - digits) { append(0x30) }
    var unit = limit / 10
    while unit > 0 {
      append(0x30 + UInt8(number / unit % 10))
      unit /= 10
    }
  }
}
