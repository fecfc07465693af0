package import GodwitModel

/// The links of a step: pairs of inverse relationships that its mappings fill.
package enum NumberedLink {}
/// The rules for the order of a step's links.
package enum NumberedOrder {}
/// The rules for the derived attributes of a step.
package enum NumberedDerivation {}

package typealias LinkID = ListNumber<NumberedLink>
package typealias OrderID = ListNumber<NumberedOrder>
package typealias DerivationID = ListNumber<NumberedDerivation>
