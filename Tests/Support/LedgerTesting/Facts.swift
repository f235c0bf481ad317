package import AppStore
package import FoundationEssentials
package import Ledger
package import StrictJSON

/// Facts made by hand, for tests without verification.
package enum Facts {
    /// 2026-01-01, day 0.
    package static let start: Int64 = 1_767_225_600_000

    package static func timestamp(_ milliseconds: Int64) -> Timestamp { Timestamp(millisecondsSince1970: milliseconds) }

    package static func day(_ day: Double) -> Int64 { start + Int64(day * 86_400_000) }

    /// A charge: by default a month of a subscription, bought by the customer; period and charge have the same number.
    package struct Charge: Sendable {
        package var id: String
        package var contract = "1000"
        package var lineItem: String?
        package var product = "pro.monthly"
        package var bundle = "com.example.app"
        package var type = ProductType.autoRenewableSubscription
        package var purchaseDay: Double
        package var expiresDay: Double?
        /// When Apple signed the fact; by default the day of the purchase.
        package var signedDay: Double
        package var token: UUID?
        package var ownership = InAppOwnershipType.purchased
        package var revocationDay: Double?
        package var revocationPercentage: Int64?
        package var isUpgraded = false
        package var environment = AppStoreEnvironment.production
        /// Further members of the payload, by Apple's names, or others in the place of those above; null removes one.
        package var members = JSONObject()

        package init(_ id: String, onDay day: Double, token: UUID? = nil) {
            self.id = id
            lineItem = "5" + id
            purchaseDay = day
            expiresDay = day + 30
            signedDay = day
            self.token = token
        }

        /// A charge of a product without periods.
        package init(product: String, _ id: String, type: ProductType, onDay day: Double, token: UUID? = nil) {
            self.init(id, onDay: day, token: token)
            self.product = product
            self.type = type
            contract = id
            lineItem = nil
            expiresDay = nil
        }

        package func with(_ change: (inout Charge) -> Void) -> Charge {
            var copy = self
            change(&copy)
            return copy
        }

        /// The fact; its hash identifies its content.
        package func fact() throws -> TransactionFact {
            var members: [(String, JSONValue)] = [
                ("transactionId", .string(id)), ("originalTransactionId", .string(contract)), ("bundleId", .string(bundle)),
                ("productId", .string(product)), ("purchaseDate", .number(JSONNumber(day(purchaseDay)))),
                ("type", .string(type.rawValue)), ("inAppOwnershipType", .string(ownership.rawValue)), ("price", .number(JSONNumber(9990))),
                ("currency", .string("EUR")),
            ]
            if let lineItem { members.append(("webOrderLineItemId", .string(lineItem))) }
            if let expiresDay { members.append(("expiresDate", .number(JSONNumber(day(expiresDay))))) }
            if let token { members.append(("appAccountToken", .string(token.uuidString.lowercased()))) }
            if let revocationDay { members.append(("revocationDate", .number(JSONNumber(day(revocationDay))))) }
            if let revocationPercentage { members.append(("revocationPercentage", .number(JSONNumber(revocationPercentage)))) }
            if isUpgraded { members.append(("isUpgraded", .bool(true))) }
            var object = JSONObject(members)
            for member in self.members.members { object[member.name] = member.value == .null ? nil : member.value }
            return try TransactionFact(
                JWSTransactionDecodedPayload(object),
                environment: environment,
                version: Version(signedDate: timestamp(day(signedDay)), hash: JSONSerializer.serialize(object))
            )
        }
    }

    /// A charge for tests of version, token, revocation and absent members only.
    package static func transaction(
        _ id: String,
        signedDate: Int64,
        hash: UInt8 = 0,
        token: UUID? = nil,
        revocationDate: Int64? = nil,
        without members: Set<String> = []
    ) throws -> TransactionFact {
        let charge = Charge(id, onDay: 0, token: token).with { charge in
            charge.revocationDay = revocationDate.map { Double($0 - start) / 86_400_000 }
            for member in members { charge.members[member] = .null }
        }
        return try TransactionFact(
            charge.fact().payload,
            environment: charge.environment,
            version: Version(signedDate: timestamp(signedDate), hash: [hash])
        )
    }

    package static func subscription(_ contract: String, signedDate: Int64, status: Status) -> SubscriptionFact {
        SubscriptionFact(
            key: LedgerKey(environment: .production, id: contract),
            signedDate: timestamp(signedDate),
            hash: [1],
            status: status,
            renewalInfo: nil
        )
    }

    /// A post of the charge by `user`; `receivedAt` is in milliseconds since 1970.
    package static func post(of charge: Charge, by user: String, receivedAt: Int64, eventID: Int64) throws -> ClientPost {
        ClientPost(of: try charge.fact(), user: user, receivedAt: timestamp(receivedAt), eventID: eventID)
    }

    package static func refundStatement(
        _ kind: RefundRequestFact.Kind,
        of charge: Charge,
        uuid: String,
        reason: String? = nil,
        signedDate: Int64
    ) throws -> RefundRequestFact {
        RefundRequestFact(
            kind,
            key: NotificationKey(environment: charge.environment, uuid: UUID(notification: uuid)),
            of: try charge.fact(),
            reason: reason,
            signedDate: timestamp(signedDate)
        )
    }

    /// - Parameter uuid: of the notification; a unique one by default.
    package static func event(
        _ id: Int64,
        uuid: String? = nil,
        transaction: TransactionFact? = nil,
        subscription: SubscriptionFact? = nil,
        post: ClientPost? = nil,
        refundStatement: RefundRequestFact? = nil,
        effects: [Effect] = []
    ) -> EventFacts {
        let environment = transaction?.key.environment ?? .production
        var facts = EventFacts(eventID: id, environment: environment, notificationUUID: UUID(notification: uuid ?? "uuid-\(id)"))
        (facts.transaction, facts.subscription, facts.refundStatement) = (transaction, subscription, refundStatement)
        (facts.posts, facts.effects) = (post.map { [$0] } ?? [], effects)
        return facts
    }
}
