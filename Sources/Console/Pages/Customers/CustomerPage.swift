import AppStore
import Postgres
import SQL
package import StrictJSON

/// A customer, by the name of the user or by a contract, or the search for one.
struct CustomerPage: ConsolePage {
    let path: String
    let area = ConsoleArea.customers

    static let all = ["/customers", "/customers/users/{user}", "/customers/contracts/{contract}"].map { CustomerPage(path: $0) }

    /// Entries of a timeline, and rows of other tables.
    private static let (entries, rows) = (Int32(30), 8)

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let words = request.query["q"]?.trimmed
        let user = request.values["user"]
        let contract = request.values["contract"]
        let before = try request.query.int64("before")
        // Digits alone are Apple's id of a contract, or a user's name.
        if user == nil, let id = contract ?? words.flatMap({ $0.allSatisfy(\.isNumber) ? $0 : nil }) {
            if let document = try await Self.document(.contract(id), before: before, context) {
                return .page(try await page(document, of: .contract(id), context))
            }
            if contract != nil {
                throw ConsoleProblem.notFound(
                    "Nothing is known of a contract “\(id.shortened)” in \(context.environment). Give Apple’s originalTransactionId, not the id of a renewal."
                )
            }
        }
        guard let name = user ?? words else { return .page(search(context)) }
        guard let document = try await Self.document(.user(name), before: before, context) else {
            throw ConsoleProblem.notFound(
                "Nothing is known of a user “\(name.shortened)” in \(context.environment): the user has no order, owns no contract and has posted nothing. Is the name exact, and the environment right?"
            )
        }
        return .page(try await page(document, of: .user(name), context))
    }

    /// What `appstore.explain_customer` returns; nil for an unknown customer.
    static func document(_ customer: Customer, before: Int64? = nil, _ context: ConsoleContext) async throws -> JSONObject? {
        try await context.transaction.document(
            .explainCustomer(
                userID: customer.user,
                originalTransactionID: customer.contract,
                environment: context.environment,
                before: before,
                maxRows: entries
            )
        )
    }

    private func search(_ context: ConsoleContext) -> Page {
        Page(
            title: "Customers",
            elsewhere: Elsewhere(
                psql: [
                    "SELECT jsonb_pretty(appstore.explain_customer('user-1'));",
                    "SELECT jsonb_pretty(appstore.explain_customer(original_transaction_id => '2000000123456789'));",
                ],
                commands: ["appstore-inbox user user-1"]
            )
        ) {
            searchForm(
                action: context.url("customers"),
                name: "q",
                value: nil,
                label: "A user, or a contract (originalTransactionId)",
                kept: context.kept
            )
            p { "A user is found by the exact name that your backend gave." }
            p { "To find a purchase by the number on the customer’s receipt, ask Apple: appstore-inbox apple ask." }
        }
    }

    private func page(_ document: JSONObject, of customer: Customer, _ context: ConsoleContext) async throws -> Page {
        let contracts = document.rows("contracts").suffix(Self.rows)
        let ids = customer.contract.map { [$0] } ?? contracts.compactMap { $0.word("original_transaction_id") }
        let claims = try await context.transaction.documents(
            .consoleOwnership(environment: context.environment, originalTransactionIDs: ids)
        )
        let timeline = Timeline(document: document, customer: customer)
        return Page(
            title: customer.title,
            elsewhere: customer.elsewhere(context.environment)
        ) {
            p { "In \(context.environment)." }
            entitlements(document)
            timeline.markup(context)
            ledger(document, claims, context)
            if context.mayAct { customer.actions(context) }
        }
    }

    private func entitlements(_ document: JSONObject) -> Markup {
        documentTable(
            "Entitlements now, and why",
            document.rows("entitlements"),
            limit: Self.rows,
            empty: "None.",
            [
                .text("entitlement", "entitlement"),
                DocumentColumn("may be used") {
                    badge($0.word("active") == "true" ? .good : .neutral, $0.word("active") == "true" ? "yes" : "no")
                },
                .time("until", "until"), .state("why", "why"), .text("renews", "will_renew"), .text("product", "product_id"),
                .identifier("contract", "original_transaction_id"),
            ]
        )
    }

    private func ledger(_ document: JSONObject, _ claims: [JSONObject], _ context: ConsoleContext) -> Markup {
        Markup {
            documentTable(
                "Orders, the latest first",
                document.rows("orders").reversed(),
                limit: Self.rows,
                isCut: document.rows("orders").count == Int(Self.entries),
                empty: "None.",
                [
                    .identifier("order", "order_no"), .state("status", "status"), .text("product", "product_id"),
                    .time("ordered", "ordered_at"), .time("paid", "paid_at"),
                    DocumentColumn("price") { money($0.integer("price"), $0.word("currency")) }, .text("reason", "reason"),
                ]
            )
            documentTable(
                "Contracts, the latest first, as Apple described them last",
                document.rows("contracts").reversed(),
                limit: Self.rows,
                empty: "None: single purchases that are consumed have no contract.",
                [
                    contractColumn("contract", context), .text("product", "product_id"), .text("app", "bundle_id"),
                    .text("renews", "will_renew"),
                    DocumentColumn("seats and commitment") { row in
                        let terms = ContractTerms(row)
                        return .text([terms.seats, terms.commitment].compactMap(\.self).joined(separator: "; "))
                    },
                    .time("period ends", "current_period_end"), .time("access until", "access_until"),
                    DocumentColumn("owner") { row in
                        row.word("user_id").map { user in a(.href(Customer.user(user).url(context))) { user.shortened } }
                            ?? .text("none")
                    },
                ]
            )
            if !document.rows("app_transactions").isEmpty {
                documentTable(
                    "First downloads of the app",
                    document.rows("app_transactions"),
                    limit: Self.rows,
                    empty: "None.",
                    [
                        .text("app", "bundle_id"), .text("version", "original_application_version"), .text("platform", "original_platform"),
                        .time("downloaded", "original_purchase_date"), .time("taken back", "revocation_date"),
                        .identifier("app transaction", "app_transaction_id"),
                    ]
                )
            }
            documentTable(
                "Owner and claims, of each contract the one that decides first",
                claims,
                limit: Self.rows,
                empty: "No claim: nothing names an owner.",
                [
                    .identifier("contract", "original_transaction_id"), .text("user", "user_id"),
                    DocumentColumn("decides") { $0.word("is_owner") == "true" ? badge(.good, "owner") : .empty }, .text("by", "kind"),
                    .time("counts from", "effective_at"),
                    DocumentColumn("evidence") { row in
                        row.word("kind") == "link"
                            ? .text("by \(row.word("actor") ?? "–"): \(row.word("note")?.shortened ?? "no reason")")
                            : identifier(row.word("source_id")?.shortened)
                    },
                ]
            )
            DocumentRows(title: "unmatched", rows: document.rows("unmatched").reversed()).markup
            DocumentRows(title: "posts that wait or were refused", rows: document.rows("posts").reversed()).markup
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}

/// What happened to a customer, by two clocks: when it happened, and when it was learned.
private struct Timeline {
    let document: JSONObject
    let customer: Customer

    /// What is learned later than this has its delay in words.
    private static let punctual = Duration.seconds(300)

    func markup(_ context: ConsoleContext) -> Markup {
        let entries = document.rows("timeline")
        let older = entries.first?.integer("place").flatMap { $0 > 1 ? $0 : nil }
        return Markup {
            documentTable("What happened, the latest first", entries.reversed(), empty: "Nothing.", columns(context))
            pager(newer: nil, older: older.map { customer.url(context).with("before", "\($0)") })
        }
    }

    private func columns(_ context: ConsoleContext) -> [DocumentColumn] {
        [
            .time("happened", "occurred_at"), DocumentColumn("learned") { Self.learned($0) }, .text("what", "what"),
            .text("product", "product_id"), .text("detail", "detail"), .text("user", "user_id"),
            .identifier("transaction", "transaction_id"), eventColumn("event", context),
        ]
    }

    private static func learned(_ entry: JSONObject) -> Markup {
        guard let learned = entry.instant("learned_at") else { return .text("–") }
        guard let occurred = entry.instant("occurred_at") else { return entry.time("learned_at") }
        let delay = Duration.milliseconds(learned.millisecondsSince1970 - occurred.millisecondsSince1970)
        return delay <= punctual
            ? .text("at once")
            : Markup {
                entry.time("learned_at"); " "; badge(.warning, "late: \(gap(delay))")
            }
    }
}

/// The seats and the commitment of a contract, of a document with `seats` and `commitment`, in words.
package struct ContractTerms {
    /// `5 seats, of which 2 were added and 1 refunded; 4 renew`; nil without seats.
    package let seats: String?
    /// `committed until 2027-01-31, 11 payments left, then ends`; nil without a commitment.
    package let commitment: String?

    package init(_ contract: JSONObject) {
        seats = Self.member("seats", of: contract).map(Self.seats)
        commitment = Self.member("commitment", of: contract).map(Self.commitment)
    }

    private static func member(_ name: String, of contract: JSONObject) -> JSONObject? {
        guard case .object(let member)? = contract[name] else { return nil }
        return member
    }

    private static func seats(_ seats: JSONObject) -> String {
        let changes = [("added", "were added"), ("revoked", "refunded")].compactMap { member, words in
            seats.word(member).flatMap { $0 == "0" ? nil : "\($0) \(words)" }
        }
        let bought = seats.word("bought") ?? "0"
        let part = changes.isEmpty ? "" : ", of which " + changes.joined(separator: " and ")
        return "\(bought) \(bought == "1" ? "seat" : "seats")\(part)" + (seats.word("renewing").map { "; \($0) renew" } ?? "")
    }

    private static func commitment(_ commitment: JSONObject) -> String {
        let left = commitment.word("payments_left")
        let next = commitment.word("will_renew").map { $0 == "true" ? "then renews" : "then ends" }
        return [
            commitment.word("until").map { "committed until \($0.prefix(10))" },
            left.map { "\($0) \($0 == "1" ? "payment" : "payments") left" }, next,
        ].compactMap(\.self).joined(separator: ", ")
    }
}
