import AppStore

/// The books as text: one line for each row, `what environment key | name=value | …`.
extension ReferenceModel {
    /// All lines, in order.
    package func lines() -> [String] {
        let orders = makeOrders()
        let claims = makeClaims(orders)
        var lines = charges.map { transactionLine($0, orders) }
        lines += renewals.map { subscriptionLine($0, $1) }
        lines += orderLines(orders, claims)
        lines += claims.values.joined().map(claimLine)
        lines += contractLines(claims)
        lines += posts.map(postLine)
        lines += effects().map { "effect \($0)" }
        lines += refundStatements().map(refundLine) + consumptionLines()
        return lines.sorted()
    }

    /// The lines of what joins by version and of the effects: what does not need the database's derivation. Content is told by its hash.
    package func coreLines() -> [String] {
        var lines = charges.map { BookLine.text("transaction", $0.environment, $0.id, versions(of: $0)) }
        lines += renewals.map { BookLine.text("subscription", $0.environment, $0.id, versions(of: $1)) }
        lines += posts.map(postLine)
        lines += effects().map { "effect \($0)" }
        lines += refundStatements().map(refundLine)
        return lines.sorted()
    }

    private func versions(of charge: Charge) -> [(String, String?)] {
        [
            ("signed_date", String(charge.latest.signed)), ("payload_hash", charge.latest.hash.hexadecimal),
            ("first_signed_date", String(charge.assertions[0].signed)), ("first_token", charge.firstToken),
            ("period_no", charge.period),
        ]
    }

    private func versions(of renewal: Assertion) -> [(String, String?)] {
        [("signed_date", String(renewal.signed)), ("fact_hash", renewal.hash.hexadecimal)]
    }

    private func transactionLine(_ charge: Charge, _ orders: Orders) -> String {
        var fields = fields(BookColumns.transactions, charge.latest)
        fields += versions(of: charge) + [("order_no", orders.number(of: charge))]
        return BookLine.text("transaction", charge.environment, charge.id, fields)
    }

    private func subscriptionLine(_ key: Key, _ assertion: Assertion) -> String {
        var fields = fields(BookColumns.subscriptions, assertion)
        fields += [("status", assertion.status.map { String($0.rawValue) })] + versions(of: assertion)
        return BookLine.text("subscription", key.environment, key.id, fields)
    }

    private func fields(_ columns: [BookColumns.Column], _ assertion: Assertion) -> [(String, String?)] {
        columns.map { ($0.name, assertion.text($0.member)) }
    }

    private func claimLine(_ claim: Claim) -> String {
        BookLine.text(
            "claim",
            claim.contract.environment,
            "\(claim.contract.id) \(claim.evidence)",
            [("user_id", claim.user), ("effective_at", String(claim.effectiveAt))]
        )
    }

    private func contractLines(_ claims: [Key: [Claim]]) -> [String] {
        let linked = Set(links.map { Key($0.environment.rawValue, $0.contract) } + posts.map(\.contract))
        return Dictionary(grouping: charges, by: \.key).compactMap { key, charges in
            guard let current = current(of: charges), current.givesAccess || linked.contains(key) else { return nil }
            let owner = owner(claims[key] ?? [])
            guard current.givesAccess else { return BookLine.text("contract", key.environment, key.id, [("user_id", owner)]) }
            let renewal = renewals[key]
            return BookLine.text(
                "contract",
                key.environment,
                key.id,
                [
                    ("user_id", owner), ("bundle_id", current.bundle), ("product_id", current.product),
                    ("product_type", current.latest.text("type")), ("status", renewal?.status.map { String($0.rawValue) }),
                    ("will_renew", renewal?.number("autoRenewStatus").map { $0 == 1 ? "true" : "false" }),
                    ("started_at", charges.map(\.purchaseDate).min().map(String.init)), ("current_transaction_id", current.id),
                    ("current_period_start", String(current.purchaseDate)),
                    ("current_period_end", current.expiresDate.map(String.init)),
                    ("revoked_at", current.revocationDate.map(String.init)),
                    ("access_until", accessUntil(current, among: charges, renewal: renewal).map(text)),
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
        BookLine.text(
            "submission",
            post.charge.environment,
            "\(post.charge.id) \(post.user)",
            [("contract", post.contract.id), ("received_at", String(post.receivedAt)), ("event_id", String(post.eventID))]
        )
    }

    /// What Apple asks and has not decided: the first ask after the last decision.
    private func consumptionLines() -> [String] {
        Dictionary(grouping: refundStatements()) { Key($0.environment, $0.charge) }.compactMap { key, said -> String? in
            let decision = said.filter { $0.kind != "asked" }.map(\.signed).max() ?? .min
            guard let asked = said.filter({ $0.kind == "asked" && $0.signed > decision }).map(\.signed).min() else { return nil }
            return BookLine.text("consumption", key.environment, key.id, [("asked_at", String(asked)), ("open", "true")])
        }
    }

    private func refundLine(_ assertion: RefundStatement) -> String {
        BookLine.text(
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
