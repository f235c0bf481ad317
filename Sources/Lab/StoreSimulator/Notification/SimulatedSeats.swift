package import StrictJSON

/// The seats of a transaction, `multiSeatInfo` (appstoreserverapi/transactionmultiseatinfo). Their number is the transaction's `quantity`.
package struct SimulatedSeats: Hashable, Sendable {
    /// Who hosts the invitations of the members (appstoreserverapi/invitationmanagement).
    package enum Invitations: String, Hashable, Sendable, CaseIterable {
        /// Each member gets a transaction, whose ownership is ASSIGNED
        /// (storekit/transaction/multiseatinfo-swift.struct/invitationmanagement-swift.struct/apple).
        case apple = "APPLE"
        /// Members get no transactions; the app's server claims their seats (appstoreserverapi/claim-seat).
        case developer = "DEVELOPER"
    }

    package var invitations: Invitations
    package var tiers: [SeatTier]
    /// The number of refunded seats, nil if there are none. Only the purchaser's transaction has it (appstoreserverapi/revokedseatquantity).
    package var revoked: Int32?

    package init(invitations: Invitations, tiers: [SeatTier], revoked: Int32? = nil) {
        (self.invitations, self.tiers, self.revoked) = (invitations, tiers, revoked)
    }

    /// The payload of the member `multiSeatInfo`.
    package var payload: JSONObject {
        var json: JSONObject = ["invitationManagement": .string(invitations.rawValue), "priceTiers": tiers.payload]
        json.add("revokedSeatQuantity", revoked)
        return json
    }
}

/// A number of seats and the price of each of them.
package struct SeatTier: Hashable, Sendable {
    /// Thousandths of the storefront's currency unit.
    package var price: Int64
    package var quantity: Int32

    package init(price: Int64, quantity: Int32) {
        self.price = price
        self.quantity = quantity
    }
}

extension [SeatTier] {
    /// The money for all seats: the price of each tier times its quantity, added up (appstoreserverapi/transactionmultiseatinfo).
    package var total: Int64 { reduce(0) { $0 + $1.price * Int64($1.quantity) } }

    /// The average price of a seat, which is the transaction's `price` (appstoreserverapi/transactionmultiseatinfo); rounded, half a
    /// thousandth up.
    package var averagePrice: Int64 {
        let seats = reduce(0) { $0 + Int64($1.quantity) }
        return seats == 0 ? 0 : (total + seats / 2) / seats
    }

    var payload: JSONValue {
        .array(map { .object(["price": .integer($0.price), "quantity": .integer($0.quantity)]) })
    }
}
