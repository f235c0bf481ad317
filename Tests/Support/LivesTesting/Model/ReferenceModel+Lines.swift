import AppStore
import StoreSimulator

/// The ledger as text: one line for each row, `what environment key | name=value | …`.
extension ReferenceModel {
    /// All lines, sorted.
    package func lines() -> [String] {
        let orders = makeOrders()
        let claims = makeClaims(orders)
        var lines = charges.map { transactionLine($0, orders) }
        lines += renewals.map { subscriptionLine($0, $1) } + legacyRenewals.values.map(legacyRenewalLine)
        lines += orderLines(orders, claims)
        lines += claims.values.joined().map(claimLine)
        lines += contractLines(claims)
        lines += posts.map(postLine) + receiptPosts.map(receiptPostLine)
        lines += effects().map { "effect \($0)" }
        lines += refundRequests().map(refundLine) + consumptionLines()
        lines += eventContracts.flatMap(\.lines) + registerLines()
        return lines.sorted()
    }

    /// The lines of registers and effects, without what the database derives. Content is represented by its hash.
    package func coreLines() -> [String] {
        var lines = charges.map { LedgerLine.text("transaction", $0.environment, $0.id, versions(of: $0)) }
        lines += renewals.map { LedgerLine.text("subscription", $0.environment, $0.id, versions(of: $1)) }
        lines += legacyRenewals.values.map { renewal in
            let versions = [("stated_at", String(renewal.statedAt)), ("fact_hash", renewal.hash.hexadecimal)]
            return LedgerLine.text("legacy_renewal", renewal.name.contract.environment, renewal.name.text, versions)
        }
        lines += posts.map(postLine) + receiptPosts.map(receiptPostLine)
        // The refunds of a purchase are numbered when all is known about it.
        lines += effectsOfStatements().union(statedRefunds()).union(found).map { "effect \($0)" }
        lines += refundRequests().map(refundLine)
        return lines.sorted()
    }

    private func versions(of charge: Charge) -> [(String, String?)] {
        [
            ("signed_date", charge.signed.map { String($0.signed) }), ("payload_hash", charge.signed?.hash.hexadecimal),
            ("receipt_date", charge.receipt.map { String($0.signed) }), ("receipt_hash", charge.receipt?.hash.hexadecimal),
            ("first_signed_date", String(charge.firstSigned)), ("first_token", charge.firstToken), ("period_no", charge.period),
        ]
    }

    private func versions(of renewal: Assertion) -> [(String, String?)] {
        [("signed_date", String(renewal.signed)), ("fact_hash", renewal.hash.hexadecimal)]
    }

    private func transactionLine(_ charge: Charge, _ orders: Orders) -> String {
        let constants = LedgerColumns.transactions.map { column in
            (column.name, column.isLasting ? charge.lasting(column.member) : charge.constant.text(column.member))
        }
        var fields = constants + fields(LedgerColumns.transactionStates, charge.state)
        fields += [
            ("product_type", charge.type), ("in_app_ownership_type", charge.ownership),
            ("subscription_group_identifier", charge.subscriptionGroup), ("app_account_token", charge.token),
            ("is_subscription", charge.isSubscription ? "true" : "false"),
        ]
        fields += charge.receipt.map { self.fields(LedgerColumns.receiptHalf, $0) } ?? []
        fields += versions(of: charge) + [("order_no", orders.number(of: charge))]
        return LedgerLine.text("transaction", charge.environment, charge.id, fields)
    }

    private func subscriptionLine(_ key: Key, _ assertion: Assertion) -> String {
        var fields = fields(LedgerColumns.subscriptions, assertion)
        fields += [("status", assertion.status.map { String($0.rawValue) })] + versions(of: assertion)
        return LedgerLine.text("subscription", key.environment, key.id, fields)
    }

    private func legacyRenewalLine(_ renewal: V1Renewal) -> String {
        LedgerLine.text("legacy_renewal", renewal.name.contract.environment, renewal.name.text, renewal.fields)
    }

    private func fields(_ columns: [LedgerColumns.Column], _ assertion: Assertion) -> [(String, String?)] {
        columns.map { ($0.name, assertion.text($0.member)) }
    }

    private func claimLine(_ claim: Claim) -> String {
        LedgerLine.text(
            "claim",
            claim.contract.environment,
            "\(claim.contract.id) \(claim.evidence)",
            [("user_id", claim.user), ("effective_at", String(claim.effectiveAt))]
        )
    }

    private func contractLines(_ claims: [Key: [Claim]]) -> [String] {
        // A renewal or a claim alone makes a contract; a consumable makes one while nothing says whose it is.
        let referenced = linked.union(renewals.keys).union(legacyRenewals.keys.map(\.contract)).union(migrated)
        let migrations = migrations
        return chargesByContract().compactMap { key, charges in
            let owner = owner(claims[key] ?? [])
            let before = migrations[key]?.map(\.id).sorted().joined(separator: ",")
            let after = migrations.filter { $0.value.contains(key) }.map(\.key.id).sorted()
            let migration = [("migrated_from", before), ("migrated_to", after.isEmpty ? nil : after.joined(separator: ","))]
            guard let current = current(of: charges), current.givesAccess else {
                guard referenced.contains(key) || owner == nil && charges.contains(where: \.isPurchased) else { return nil }
                return LedgerLine.text("contract", key.environment, key.id, [("user_id", owner)] + migration)
            }
            let legacy = legacyRenewal(thatCountsFor: current)
            let renewal = renewals[key].flatMap { isOfEarlierPeriod($0, than: current) ? nil : $0 }
            let autoRenews = renewals[key]?.number("autoRenewStatus").map { $0 == 1 }
            let commitment = Commitment(current, renewals[key])
            let willRenew = legacy.map(\.renewal.autoRenews) ?? autoRenews.map { $0 && !(commitment?.isLastPeriod ?? false) }
            let seats = GroupSeats(current, among: charges)
            return LedgerLine.text(
                "contract",
                key.environment,
                key.id,
                [("user_id", owner)] + migration + [
                    ("bundle_id", current.bundle), ("product_id", current.product),
                    ("product_type", current.type),
                    ("status", legacy.map(\.status) ?? renewal?.status.map { String($0.rawValue) }),
                    ("will_renew", willRenew.map { $0 ? "true" : "false" }),
                    ("started_at", charges.map(\.purchaseDate).min().map(String.init)), ("current_transaction_id", current.first.id),
                    ("current_period_start", String(current.purchaseDate)),
                    ("current_period_end", current.expiresDate.map(String.init)),
                    ("revoked_at", current.revocationDate.map(String.init)),
                    ("access_until", accessUntil(current, among: charges).map(text)),
                    ("seats_bought", seats.map { String($0.bought) }), ("seats_added", seats.map { String($0.added) }),
                    ("seats_revoked", seats.map { String($0.revoked) }), ("commitment_until", commitment?.until.map(String.init)),
                    ("commitment_payments_left", commitment?.paymentsLeft.map(String.init)),
                    ("commitment_will_renew", commitment?.willRenew.map { $0 ? "true" : "false" }),
                ]
            )
        }
    }

    func text(_ until: Until) -> String {
        switch until {
        case .instant(let milliseconds): String(milliseconds)
        case .forever: "Infinity"
        }
    }

    private func postLine(_ post: Post) -> String {
        LedgerLine.text(
            "submission",
            post.charge.environment,
            "\(post.charge.id) \(post.user)",
            [("contract", post.contract.id), ("received_at", String(post.receivedAt)), ("event_id", String(post.eventID))]
        )
    }

    private func receiptPostLine(_ post: PostedContract) -> String {
        LedgerLine.text(
            "receipt_submission",
            post.contract.environment,
            "\(post.contract.id) \(post.user) \(post.named)",
            [("received_at", String(post.receivedAt)), ("event_id", String(post.eventID))]
        )
    }

    /// The latest consumption requests: each from its first notification on, which is the first one after the decision before the last one,
    /// with the last decision since.
    private func consumptionLines() -> [String] {
        Dictionary(grouping: refundRequests()) { Key($0.environment, $0.charge) }.compactMap { key, requests -> String? in
            let (asked, decisions) = (
                requests.filter { $0.kind == "asked" }, requests.filter { ["refunded", "declined"].contains($0.kind) }
            )
            guard let last = asked.map(\.signed).max() else { return nil }
            let before = decisions.map(\.signed).filter { $0 < last }.max() ?? .min
            let outcome = decisions.filter { $0.signed >= last }.max { ($0.signed, $0.uuid) < ($1.signed, $1.uuid) }
            return LedgerLine.text(
                "consumption",
                key.environment,
                key.id,
                [
                    ("asked_at", asked.map(\.signed).filter { $0 > before }.min().map { String($0) }), ("outcome", outcome?.kind),
                    ("outcome_at", outcome.map { String($0.signed) }),
                ]
            )
        }
    }

    private func refundLine(_ assertion: RefundRequestFact) -> String {
        LedgerLine.text(
            "refund",
            assertion.environment,
            assertion.uuid,
            [
                ("kind", assertion.kind), ("transaction_id", assertion.charge), ("contract", assertion.contract),
                ("reason", assertion.reason), ("signed_date", String(assertion.signed)),
            ]
        )
    }
}

extension [UInt8] {
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
