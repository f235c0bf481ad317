/// Whether the customer bought the product, or has it through Family Sharing or a group.
package struct InAppOwnershipType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let purchased = InAppOwnershipType(rawValue: "PURCHASED")
    package static let familyShared = InAppOwnershipType(rawValue: "FAMILY_SHARED")
    /// A seat that the purchaser of a group or organization pays for.
    package static let assigned = InAppOwnershipType(rawValue: "ASSIGNED")

    package static let known: Set = [purchased, familyShared, assigned]

    /// Whether the customer paid; a value that this version does not know says nothing of money.
    package var isPurchase: Bool { self == .purchased }
}
