import GodwitModel

/// Writes a keyed archive of any size into a file, front to back.
///
/// The places of objects are needed again at the end, and wait in temporary tables meanwhile. Every
/// array and dictionary stands behind what it holds. The object with the number 1 is written last.
final class ArchiveStream {
  /// A place in the table of offsets, which 4 bytes hold.
  typealias Place = UInt64

  private static let referenceSize = 4
  private static let placesMaximum: Int = 1 << 32 - 1
  /// Names of fields and classes are written once, as long as there are not more of them than any model has.
  private static let cachedMaximum = 10_000

  private let file: AtomicStoreFile
  private let start: Int64
  private let offsets: NumberList
  private let objects: NumberList
  private var strings: [Text: Place] = [:]
  private var references: [UInt64: Place] = [:]
  private var classes: [PropertyListValue: UInt64] = [:]
  private let name: String

  /// - Parameter name: The name of the store in messages.
  init(_ file: AtomicStoreFile, _ connection: StoreConnection, name: String) throws {
    (self.file, start, self.name) = (file, file.writtenBytes, name)
    offsets = try NumberList(connection, name: "offsets", size: 8)
    objects = try NumberList(connection, name: "objects", size: Self.referenceSize)
    try file.write("bplist00")
  }

  // MARK: Places

  /// Writes a part; the place of the whole is the first one.
  private func write(_ bytes: [UInt8]) throws -> Place {
    guard offsets.count < Self.placesMaximum else {
      throw GodwitError(
        .dataWrong, "cannot write '\(name)': a binary store cannot hold so many values", remedy: "use a SQLite store")
    }
    try offsets.append(UInt64(file.writtenBytes - start))
    try file.write(bytes)
    return Place(offsets.count)
  }

  private static func bytes(_ places: [Place]) -> [UInt8] {
    places.flatMap { PropertyListValue.big($0, referenceSize) }
  }

  /// Writes a value with all that it holds.
  func place(of value: PropertyListValue) throws -> Place {
    switch value {
    case .array(let members):
      let places = try members.map { try place(of: $0) }
      return try write(PropertyListValue.head(0xA0, places.count) + Self.bytes(places))
    case .dictionary(let fields):
      let sorted = fields.sorted { $0.key < $1.key }
      let (keys, values) = (try sorted.map { try key($0.key) }, try sorted.map { try place(of: $0.value) })
      return try write(PropertyListValue.head(0xD0, keys.count) + Self.bytes(keys + values))
    case .uid(let number): return try reference(number)
    case .string, .integer, .unsigned, .real, .boolean, .date, .data: return try write(value.leafBytes)
    }
  }

  private func key(_ text: Text) throws -> Place {
    if let known = strings[text] { return known }
    let place = try write(PropertyListValue.string(text.string).leafBytes)
    if strings.count < Self.cachedMaximum { strings[text] = place }
    return place
  }

  /// Writes a reference to the object of a number.
  func reference(_ number: UInt64) throws -> Place {
    if let known = references[number] { return known }
    return try write(PropertyListValue.reference(number))
  }

  /// Writes a reference to the object of a number once, for all that refer to it.
  func share(_ number: UInt64) throws {
    guard references.count < Self.cachedMaximum else { return }
    references[number] = try reference(number)
  }

  // MARK: Objects

  /// Adds an object; 0 is nil, 1 the object that `finish` gets.
  ///
  /// - Returns: Its number.
  func add(_ object: PropertyListValue) throws -> UInt64 {
    try objects.append(place(of: object))
    return UInt64(objects.count + 1)
  }

  /// Adds what the archive says of a class, once.
  func add(class entry: PropertyListValue) throws -> UInt64 {
    if let known = classes[entry] { return known }
    let number = try add(entry)
    if classes.count < Self.cachedMaximum { classes[entry] = number }
    try share(number)
    return number
  }

  func add(_ fields: [String: PropertyListValue], of className: String) throws -> UInt64 {
    var fields = fields
    fields["$class"] = .uid(try add(class: KeyedArchive.classEntry(className)))
    return try add(.dictionary(fields))
  }

  /// Adds an object with all that it leads to.
  func add(_ graph: ArchivedGraph) throws -> UInt64 {
    // Numbers are given in the order of the graph, so that an object may lead to one that follows.
    var numbers: [UInt64] = [0]
    var next = UInt64(objects.count + 2)
    for object in graph.objects.dropFirst() {
      if let known = classes[object] {
        numbers.append(known)
      } else {
        numbers.append(next)
        next += 1
      }
    }
    for (place, object) in graph.objects.enumerated().dropFirst() where classes[object] == nil {
      let number = try add(object.replacingReferences { numbers[Int($0)] })
      guard number == numbers[place] else {
        throw GodwitError(.internalBug, "cannot write '\(name)': an object has another number than expected")
      }
    }
    for (place, object) in graph.objects.enumerated().dropFirst()
    where object.dictionary?["$classname"] != nil && classes.count < Self.cachedMaximum {
      classes[object] = numbers[place]
    }
    return numbers[1]
  }

  // MARK: The end

  /// Ends the archive.
  ///
  /// - Parameters:
  ///   - className: The class of the object with the number 1, a dictionary.
  ///   - keys: The places of its keys.
  ///   - values: The places of its values.
  ///   - name: The key of that object in `$top`.
  func finish(_ className: String, keys: NumberList, values: NumberList, as name: String) throws {
    let classPlace = try reference(add(class: KeyedArchive.classEntry(className)))
    let fields = try ["$class", "NS.keys", "NS.objects"].map { try key($0) }
    let map = try write(
      PropertyListValue.head(0xD0, 3) + Self.bytes(fields + [classPlace, try array(keys), try array(values)]))
    let null = try place(of: .string("$null"))
    let all = try array(objects, after: [null, map])
    let top = try place(of: .dictionary([Text(name): .uid(1)]))
    let heads = try ["$archiver", "$objects", "$top", "$version"].map { try key($0) }
    let rest = try [place(of: .string("NSKeyedArchiver")), all, top, place(of: .integer(100_000))]
    let topOffset = UInt64(file.writtenBytes - start)
    try file.write(PropertyListValue.head(0xD0, 4) + Self.bytes(heads + rest))
    let table = Int(clamping: file.writtenBytes - start)
    let size = PropertyListValue.size(of: table)
    try file.write(PropertyListValue.big(topOffset, size))
    try offsets.forEachPiece { piece in
      var packed: [UInt8] = []
      packed.reserveCapacity(piece.count / 8 * size)
      for number in stride(from: 0, to: piece.count, by: 8) { packed += piece[(number + 8 - size)..<(number + 8)] }
      try file.write(packed)
    }
    try file.write(
      [0, 0, 0, 0, 0, 0, UInt8(size), UInt8(Self.referenceSize)] + PropertyListValue.big(UInt64(offsets.count + 1), 8)
        + PropertyListValue.big(0, 8) + PropertyListValue.big(UInt64(table), 8))
  }

  private func array(_ list: NumberList, after first: [Place] = []) throws -> Place {
    let place = try write(PropertyListValue.head(0xA0, first.count + list.count) + Self.bytes(first))
    try list.forEachPiece(file.write)
    return place
  }
}
