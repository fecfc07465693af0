package import Foundation

extension Data {
  /// A journal of a transaction over several databases: without a page, taken for hot by SQLite, and with the name of a
  /// file at its end.
  package static func superJournal(naming file: String, pages: UInt32) -> Data {
    func number(_ value: UInt32) -> Data { Swift.withUnsafeBytes(of: value.bigEndian) { Data($0) } }
    let magic = Data([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
    var journal = magic
    for value in [0, 1, pages, 512, 4096] { journal += number(value) }
    journal += Data(repeating: 0, count: 512 - journal.count)
    let name = Data(file.utf8)
    let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
    return journal + number(0x4000_0000 / 4096 + 1) + name + number(UInt32(name.count)) + number(sum) + magic
  }
}
