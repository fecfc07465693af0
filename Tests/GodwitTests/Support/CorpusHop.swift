import TestSupport

/// One hop of a chain of the corpus, and what each table holds after it: written by hand from models and mapping
/// models.
///
/// A column that the source's table has under the same name is expected to hold the same value, an object to keep its
/// key and entity. Everything else must be spelt out here, also what is lost: a column or table that a hop neither
/// carries nor names fails the test.
struct CorpusHop: Sendable {
  enum Way: Sendable {
    case inferred
    /// Mapping models that Xcode saved. Core Data's default policy stands in for the application's.
    case xcode([String])
    /// A mapping file of ours.
    case ours(String)
  }

  /// The rows of a table of the destination.
  struct Made: Sendable {
    /// The source's table whose row is `s`; nil for the one of the same name.
    var table: String?
    /// Which of its rows become objects.
    var filter: String?
    /// The name of the entity, as SQL; nil for that of the source row.
    var kind: String?
    /// SQL over `s` by column, where it is not the column of the same name.
    var columns: [String: String] = [:]
    var isEmpty = false

    static let empty = Made(isEmpty: true)
  }

  /// The version it leads to.
  var version: String
  var way: Way = .inferred
  var tables: [String: Made] = [:]
  /// The rows of join tables: both keys, and the place where there is one. Left out where a table of the source differs
  /// in entity numbers alone.
  var joins: [String: String] = [:]
  /// Entities that are called otherwise, by their former names.
  var renamed: [String: String] = [:]
  /// Tables, and columns as `TABLE.COLUMN`, that nothing carries on.
  var lost: Set<String> = []
}

/// The versions of one application's model, the hops between them, and the stores that Core Data wrote.
struct CorpusFamily: Sendable {
  struct Store: Sendable {
    var version: String
    var path: String
    /// Objects in it.
    var objects: Int64
    var differences: [StoreStructure.Difference] = []
  }

  var name: String
  /// The bundle of its versions; nil where each store carries the model of its version.
  var models: String?
  /// In order; the first starts at the version of the first store.
  var hops: [CorpusHop]
  var stores: [Store]

  /// The hops that lead on from a version.
  func hops(from version: String) -> ArraySlice<CorpusHop> {
    guard version != stores[0].version, let place = hops.firstIndex(where: { $0.version == version }) else {
      return hops[...]
    }
    return hops[(place + 1)...]
  }
}
