package import AppStore

/// A command of the shop or an operator.
package enum LifeCommand: Hashable, Sendable {
    /// `create_order`: the shop makes an order, in Production.
    case createOrder(ShopOrder)
    /// `link_owner` or `unlink_owner`, with its time as part of the command.
    case linkOwner(OwnerLink)
}

/// An order that the shop makes.
package struct ShopOrder: Hashable, Sendable {
    /// The order's number, in lower case: the appAccountToken.
    package var no: String
    package var user: String
    package var product: String
    package var bundle: String?

    package init(no: String, user: String, product: String, bundle: String?) {
        self.no = no
        self.user = user
        self.product = product
        self.bundle = bundle
    }
}

/// Makes the user the owner of a contract from an instant on, or takes back the links before that instant.
package struct OwnerLink: Hashable, Sendable {
    package var environment: AppStoreEnvironment
    package var contract: String
    /// Nil to take back.
    package var user: String?
    /// Microseconds since 1970.
    package var linkedAt: Int64
}
