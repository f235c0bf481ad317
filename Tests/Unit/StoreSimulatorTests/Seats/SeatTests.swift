import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// The purchaser of a group. The pages are those that ``CustomerLife`` names.
struct SeatTests {
    /// A group that has just bought seats of a plan at 4.99.
    private static func group(_ seats: SeatTerms = SeatTerms(5), seed: UInt64 = 1) throws -> CustomerLife {
        var life = SimulatedStore.test(seed: seed).customer()
        _ = try life.subscribe(terms: PurchaseTerms(seats: seats))
        return life
    }

    private static func payload(_ transaction: SimulatedTransaction?) throws -> JSONObject {
        try #require(transaction).payload(of: .test, signedDate: .testNow)
    }

    @Test func `the price is the average of the tiers, which times the seats is not their total`() throws {
        let json = try Self.payload(try Self.group().subscription?.current)
        #expect(json["quantity"]?.integer == 5 && json["price"]?.integer == 4691)
        let seats = try #require(json["multiSeatInfo"]?.object)
        #expect(seats.members.map(\.name) == ["invitationManagement", "priceTiers"] && seats["invitationManagement"]?.string == "APPLE")
        let tiers = try #require(seats["priceTiers"]?.list).compactMap(\.object)
        #expect(tiers.map { $0["price"]?.integer } == [4990, 4491] && tiers.map { $0["quantity"]?.integer } == [2, 3])
        #expect(json["additionalTransactionReason"] == nil)
        let flat = try Self.group(SeatTerms(5, .developer, hasTiers: false)).subscription?.current
        #expect(flat?.price == 4990 && flat?.seats?.tiers.total == 24_950 && flat?.seats?.invitations == .developer)
    }

    @Test(arguments: [false, true])
    func `seats are added by another transaction to the end of the period, and both say so`(isInLineItem: Bool) throws {
        var life = try Self.group(SeatTerms(5, addsToLineItem: isInLineItem))
        let first = try #require(life.subscription?.current)
        life.advance(by: .seconds(86_400))
        let sent = try life.addSeats(2)
        #expect(sent.type == .didChangeRenewalPref && sent.subtype == .increaseQuantity)
        let (parts, addition) = (try #require(life.subscription).parts, try #require(sent.transaction))
        #expect(parts.map(\.transactionID) == [first.transactionID, addition.transactionID] && parts.map(\.quantity) == [5, 2])
        for part in parts {
            let json = try Self.payload(part)
            #expect(json["additionalTransactionReason"]?.string == "SEAT_ADDITION" && json["isUpgraded"] == nil)
        }
        #expect(addition.expiresDate == first.expiresDate && addition.purchaseDate > first.purchaseDate && addition.reason == .purchase)
        #expect(addition.originalTransactionID == first.originalTransactionID)
        #expect((addition.webOrderLineItemID == first.webOrderLineItemID) == isInLineItem)
        #expect(addition.seats?.tiers == [SeatTier(price: 4491, quantity: 2)])
        #expect(sent.renewalInfo?.renewalQuantity == 7)

        _ = try life.renew()
        let renewal = try #require(life.subscription)
        #expect(
            renewal.parts.map(\.quantity) == [7] && !renewal.current.hasSeatAddition && renewal.current.expiresDate != first.expiresDate
        )
    }

    @Test func `refunded seats are a number of the transaction, which is not revoked`() throws {
        var life = try Self.group()
        let sent = try life.refundSeats(2)
        #expect(sent.type == .refund && sent.subtype == .seats && sent.status == .active)
        let json = try Self.payload(sent.transaction)
        #expect(json["multiSeatInfo"]?.object?["revokedSeatQuantity"]?.integer == 2)
        #expect(json["quantity"]?.integer == 5 && json["revocationDate"] == nil && json["revocationType"] == nil)
        #expect(try life.refundSeats(1).transaction?.seats?.revoked == 3 && life.subscription?.current.seatsLeft == 2)
        #expect(throws: SimulationError.self) { try life.refundSeats(2) }
        #expect(try life.refund().status == .revoked && life.subscription?.current.seats?.revoked == 3)
    }

    @Test(arguments: [false, true], [0, 1, 2])
    func `a period of several transactions ends when each is revoked`(isInLineItem: Bool, first: Int) throws {
        var life = try Self.group(SeatTerms(3, addsToLineItem: isInLineItem))
        _ = try life.addSeats(2)
        _ = try life.addSeats(1)
        let parts = try #require(life.subscription).parts.map(\.transactionID)
        try #require(parts.count == 3)
        for offset in 0..<3 {
            let refunded = try life.refund(parts[(first + offset) % 3])
            #expect(refunded.status == (offset == 2 ? .revoked : .active))
            #expect(life.subscription?.parts.count { $0.revocation != nil } == offset + 1)
        }
        #expect(try life.reverseRefund(parts[first]).status == .active)
        #expect(life.subscription?.current.transactionID == parts[first])
    }

    @Test func `a reduction is for the renewal, and may be undone up to the seats of the period`() throws {
        var life = try Self.group()
        let reduced = try life.changeRenewalSeats(to: 3)
        #expect(reduced.subtype == .decreaseQuantity && reduced.transaction?.quantity == 5)
        let info = try #require(reduced.renewalInfo?.payload(of: .test, signedDate: .testNow))
        #expect(info["renewalQuantity"]?.integer == 3 && info["renewalPrice"]?.integer == 4824)
        #expect(info["multiSeatInfo"]?.object?["renewalPriceTiers"]?.list?.count == 2)
        #expect(try life.changeRenewalSeats(to: 4).subtype == .increaseQuantity)
        #expect(throws: SimulationError.self) { try life.changeRenewalSeats(to: 6) }
        #expect(try life.renew().transaction?.quantity == 4)
        #expect(try life.turnAutoRenewOff().renewalInfo?.payload(of: .test, signedDate: .testNow)["multiSeatInfo"] == nil)
    }

    @Test func `unclaimed seats are named by UUIDs, beside the purchase or with the app`() throws {
        var life = try Self.group(SeatTerms(5, .developer))
        let sent = try life.unclaimSeats(2)
        let payload = try CompactJWS(try Genuine.signer.sign(sent).jws).object
        #expect(payload["notificationType"]?.string == "UNCLAIM_SEATS" && payload["subtype"] == nil)
        #expect(payload["unclaimInfo"]?.object?.members.map(\.name) == ["unclaimSeatIds"])
        #expect(Set(payload["unclaimInfo"]?.object?["unclaimSeatIds"]?.list?.compactMap(\.string) ?? []).count == 2)
        let transaction = try payload["data"]?.object?["signedTransactionInfo"]?.payload
        #expect(transaction?["transactionId"]?.string == life.subscription?.originalTransactionID)
        let bare = try CompactJWS(try Genuine.signer.sign(try life.unclaimSeats(hasData: false)).jws).object
        #expect(bare["data"] == nil && bare["unclaimInfo"]?.object?["bundleId"]?.string == "com.example.app")
        var other = try Self.group()
        #expect(throws: SimulationError.self) { try other.unclaimSeats() }
    }

    @Test func `what needs seats is refused for a subscription without`() throws {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe()
        #expect(life.subscription?.current.seats == nil && life.subscription?.renewalInfo.renewalQuantity == nil)
        #expect(throws: SimulationError.self) { try life.addSeats(1) }
        #expect(throws: SimulationError.self) { try life.refundSeats(1) }
        #expect(throws: SimulationError.self) { try life.changeRenewalSeats(to: 2) }
    }
}
