import GodwitModel

extension ArchiveReader {
  /// The value as an attribute of the type holds it; nil when it does not fit.
  mutating func attributeValue(_ value: KeyedArchive.Value, type: AttributeType) throws -> AttributeValue? {
    try archive.attributeValue(value, type: type)
  }

  mutating func number(_ value: KeyedArchive.Value) throws -> ArchivedNumber? { try archive.number(value) }
}
