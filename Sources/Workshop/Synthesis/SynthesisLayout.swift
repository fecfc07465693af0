import GodwitModel
import GodwitStore

/// Which objects a synthetic store has, and under which primary keys.
///
/// The objects of a table have positions from 0, entity after entity. A key belongs to each position by
/// arithmetic alone: positions are shuffled by multiplying modulo their number, so that entities mix.
struct SynthesisLayout: Sendable {
  struct Member: Sendable {
    var entity: String
    var number: Int
    /// The position of its first object.
    var start: Int
    var count: Int
  }

  struct Table: Sendable {
    var root: String
    var members: [Member]
    var count: Int
    fileprivate var factor: Int
    fileprivate var inverseFactor: Int
    /// nil for a store that is not nasty.
    fileprivate let highestKey: Int64?
  }

  /// Concrete entities of one table, seen as one row of objects counted from 0.
  struct Family: Sendable {
    var table: Int
    /// Member and the index of its first object.
    var parts: [(member: Int, start: Int)]
    var count: Int
    var entities: Set<String>

    /// The index of an entity's first object; nil when it does not belong.
    func start(of member: Int) -> Int? { parts.first { $0.member == member }?.start }
  }

  private(set) var tables: [Table] = []
  private let model: ManagedObjectModel
  /// The place of a concrete entity.
  private(set) var places: [String: (table: Int, member: Int)] = [:]

  init(schema: StoreSchema, counts: [String: Int], highestKey: Int64?) {
    model = schema.model
    for table in schema.tables {
      var members: [Member] = []
      var start = 0
      for entity in model.family(of: table.rootEntityName) where !entity.isAbstract {
        let count = counts[entity.name] ?? 0
        places[entity.name] = (tables.count, members.count)
        members.append(
          Member(entity: entity.name, number: schema.number(of: entity.name) ?? 0, start: start, count: count))
        start += count
      }
      let (factor, inverse) = Self.factors(of: start)
      tables.append(
        Table(
          root: table.rootEntityName, members: members, count: start, factor: factor, inverseFactor: inverse,
          highestKey: highestKey))
    }
  }

  /// A factor without a common divisor with the count, near the golden section of it, and its inverse.
  private static func factors(of count: Int) -> (Int, Int) {
    guard count > 2 else { return (1, 1) }
    var factor = max(1, Int(Double(count) * 0.618_033_988_75))
    while true {
      var (a, b, x, y) = (factor, count, 1, 0)
      while b != 0 {
        let quotient = a / b
        (a, b) = (b, a - quotient * b)
        (x, y) = (y, x - quotient * y)
      }
      if a == 1 { return (factor, ((x % count) + count) % count) }
      factor += 1
    }
  }

  func family(of entity: String) -> Family {
    var family = Family(table: 0, parts: [], count: 0, entities: [])
    for member in model.family(of: entity) {
      guard let place = places[member.name] else { continue }
      family.table = place.table
      family.parts.append((place.member, family.count))
      family.count += tables[place.table].members[place.member].count
      family.entities.insert(member.name)
    }
    return family
  }

  /// The object of a family with an index from 0: its key and entity number.
  func object(_ index: Int, of family: Family) -> (key: Int64, number: Int)? {
    guard index >= 0, index < family.count else { return nil }
    let table = tables[family.table]
    for part in family.parts.reversed() where index >= part.start {
      let member = table.members[part.member]
      return (table.key(at: member.start + index - part.start), member.number)
    }
    return nil
  }
}

extension SynthesisLayout.Table {
  /// The position of the object with the n-th key.
  func position(ofRow row: Int) -> Int { count > 0 ? row * inverseFactor % count : 0 }

  func key(at position: Int) -> Int64 { key(ofRow: count > 0 ? position * factor % count : 0) }

  /// The n-th key, growing with n. Ordinary stores count from 1; nasty ones begin at the lowest key there
  /// is, end at the highest, and have holes between.
  func key(ofRow row: Int) -> Int64 {
    let row64 = Int64(row)
    guard let highestKey else { return row64 + 1 }
    let negative = count / 10
    let huge = count / 20
    if row < negative { return row == 0 ? (highestKey == .max ? .min : -highestKey) : -3 * Int64(negative - row) }
    if row >= count - huge { return highestKey - 7 * Int64(count - 1 - row) }
    let rest = row64 - Int64(negative)
    return 1 + rest + rest / 3 + (row > count / 2 ? 1_000_000_007 : 0)
  }

  /// The member that holds a position.
  func member(at position: Int) -> Int {
    var low = 0
    var high = members.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if members[middle].start <= position { low = middle } else { high = middle }
    }
    // The last member to start there: one without objects starts where the next one does.
    return low
  }
}
