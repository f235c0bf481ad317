/// Whether the customer bought the product or has it through Family Sharing.
package struct InAppOwnershipType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let purchased = InAppOwnershipType(rawValue: "PURCHASED")
    package static let familyShared = InAppOwnershipType(rawValue: "FAMILY_SHARED")
}
