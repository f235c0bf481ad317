package import AppStore
package import AppStoreVerification
package import StoreSimulator
package import StrictJSON

/// The purchases of one Apple ID, and their StoreKit 1 documents: the receipt, verifyReceipt's answer and a notification V1.
package struct LegacyFixture {
    package var app: SimulatedApp
    package var transactions: [SimulatedTransaction]
    package var renewals: [SimulatedRenewalInfo]
    /// The receipt's creation date, in whole seconds.
    package var madeAt: Timestamp
    /// The date of the request to verifyReceipt.
    package var askedAt: Timestamp

    /// A monthly subscription in its third month, changed by `events`.
    package init(_ app: SimulatedApp = SignedScene.app, seed: UInt64 = 7, events: (inout CustomerLife) throws -> Void = { _ in }) throws {
        self.app = app
        var store = SimulatedStore(app: app, seed: seed, now: SignedScene.now.advanced(by: .seconds(-75 * 86_400)))
        var life = store.makeCustomer()
        _ = try life.subscribe()
        _ = try life.renew()
        _ = try life.renew()
        life.advance(to: SignedScene.now.advanced(by: .seconds(-60)))
        try events(&life)
        transactions = (life.subscription?.transactions ?? []) + life.oneTimeCharges
        renewals = (life.subscription?.renewalInfo).map { [$0] } ?? []
        madeAt = SignedScene.now
        askedAt = SignedScene.now.advanced(by: .seconds(5))
        for index in transactions.indices { transactions[index].appAccountToken = nil }
    }

    /// The unsigned receipt.
    package var receipt: AppReceipt { SimulatedReceipt.receipt(of: app, holding: transactions, madeAt: madeAt) }

    /// The receipt, changed by `change`, signed and in base64.
    package func signed(_ change: (inout AppReceipt) -> Void = { _ in }) throws -> String {
        var receipt = receipt
        change(&receipt)
        return try SignedScene.receiptSigner().base64(receipt)
    }

    /// The receipt, changed by `change`, signed and verified.
    package func verified(_ change: (inout AppReceipt) -> Void = { _ in }) throws -> VerifiedReceipt {
        try SignedScene.verify(receipt: signed(change))
    }

    /// verifyReceipt's answer to the receipt.
    package func answer() throws -> VerifyReceiptAnswer {
        var answer = VerifyReceiptAnswer(app: app, receipt: receipt, requestDate: askedAt, transactions: transactions)
        answer.renewals = renewals
        answer.latestReceipt = try signed()
        return answer
    }

    /// A notification V1 with all of it, changed by `change`, as ingest stores it: with an empty password.
    package func notification(_ type: NotificationTypeV1, _ change: SignedScene.Change = { _ in }) throws -> JSONObject {
        var body = SimulatedNotificationV1(type: type, password: "", answer: try answer()).body
        change(&body)
        return body
    }
}

extension JSONObject {
    /// Changes a nested object, such as `unified_receipt`.
    package mutating func change(_ member: String, _ change: SignedScene.Change) {
        guard case .object(var object)? = self[member] else { return }
        change(&object)
        self[member] = .object(object)
    }

    /// Changes each object of a nested array, such as `latest_receipt_info`.
    package mutating func changeEach(_ member: String, _ change: SignedScene.Change) {
        guard case .array(let elements)? = self[member] else { return }
        self[member] = .array(
            elements.map { element in
                guard case .object(var object) = element else { return element }
                change(&object)
                return .object(object)
            }
        )
    }
}
