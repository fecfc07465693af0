import GodwitModel

/// An object of an atomic store, in the words of the model.
struct AtomicObject {
  var entity: String
  /// Unique in the store.
  var number: Int64
  /// How messages call it.
  var name: String
  /// nil where the file has no lines.
  var place: GodwitError.Location?
  /// All stored attributes.
  var attributes: [String: AttributeValue] = [:]
  /// The numbers of the related objects, in their order.
  var relationships: [AtomicRelationship] = []
}

/// The objects that an object of an atomic store is related to.
struct AtomicRelationship {
  var description: RelationshipDescription
  var numbers: [Int64]
  /// nil where the file has no lines.
  var place: GodwitError.Location?
}

/// The content of an atomic store of any format, object by object.
protocol AtomicStoreReader: AnyObject {
  var metadata: StoreMetadata { get }
  /// No object has a higher number; nil where numbers are places in the file.
  var highestNumber: Int64? { get }
  /// The next object; nil after the last.
  ///
  /// - Throws: `.dataWrong` (65) for what does not fit the model.
  func next() throws -> AtomicObject?
  /// How messages call the object with a number.
  func name(of number: Int64) throws -> String
  /// Removes what the reading needed.
  func finish() throws
}

extension GodwitError {
  /// The error that an atomic store is damaged, or does not fit its model.
  ///
  /// - Parameter location: Names the file where it is known.
  static func damagedStore(
    _ type: StoreType, path: String, _ problem: String, at location: Location? = nil, object: String? = nil
  ) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read the \(type.noun)\(location == nil ? " '\(path)'" : ""): \(problem)", location: location,
      context: object, remedy: "copy the store again, or restore it from a backup")
  }
}
