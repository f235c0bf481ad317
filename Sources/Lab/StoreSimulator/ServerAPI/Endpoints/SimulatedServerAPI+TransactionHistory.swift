import AppStore
import OpenSSL
import StrictJSON

/// Transaction History and Refund History.
extension SimulatedServerAPI {
    func transactionHistory(_ task: ServerAPITask) throws -> JSONObject {
        let filter = try TransactionFilter(task.request)
        let (_, version) = try customer(of: Self.transactionID(task.arguments[0]), task)
        let revision = Revision(task.request, of: version.life)
        let behind = try revision.position(task.request)
        var entries = version.life.allCharges.filter(filter.matches).map { (Int64(version.changes[$0.transactionID] ?? 0), $0) }
        entries.sort { filter.isDescending ? $0.0 > $1.0 : $0.0 < $1.0 }
        entries.removeAll { entry in behind.map { filter.isDescending ? entry.0 >= $0 : entry.0 <= $0 } ?? false }
        let isEmptied = task.fault == .emptyPage
        let page = entries.prefix(isEmptied ? 0 : options.pageSize)
        let position = page.last?.0 ?? behind ?? (filter.isDescending ? .max : 0)
        var answer = Self.answer(of: version.life.app)
        answer["revision"] = .string(revision.text(position, isEmptied: isEmptied))
        answer["hasMore"] = .bool(isEmptied || entries.count > page.count)
        answer["signedTransactions"] = .array(try page.map { try sign($0.1, of: version.life.app, task) })
        return answer
    }

    /// Refunds, by the time of the refund.
    func refundHistory(_ task: ServerAPITask) throws -> JSONObject {
        let (_, version) = try customer(of: Self.transactionID(task.arguments[0]), task)
        let revision = Revision(task.request, of: version.life)
        let behind = try revision.position(task.request)
        let refunds = version.life.allCharges.compactMap { charge -> (Int64, SimulatedTransaction)? in
            guard let revocation = charge.revocation, revocation.isRefund else { return nil }
            return (revocation.date.millisecondsSince1970, charge)
        }
        let entries = refunds.sorted { ($0.0, $0.1.transactionID) < ($1.0, $1.1.transactionID) }.filter { $0.0 > behind ?? .min }
        // Refunds of one moment stay on one page: the revision is a time.
        let isEmptied = task.fault == .emptyPage
        var count = isEmptied ? 0 : min(options.pageSize, entries.count)
        while count > 0, count < entries.count, entries[count].0 == entries[count - 1].0 { count += 1 }
        return [
            "revision": .string(revision.text(count > 0 ? entries[count - 1].0 : behind ?? 0, isEmptied: isEmptied)),
            "hasMore": .bool(isEmptied || entries.count > count),
            "signedTransactions": .array(try entries.prefix(count).map { try sign($0.1, of: version.life.app, task) }),
        ]
    }
}

/// The revision of a page: a place in the order of changes, bound to a customer and to the parameters of the request.
private struct Revision {
    private let mark: String
    /// How many empty pages led to this one, so that their revisions differ.
    private let empties: Int

    init(_ request: ServerAPIRequest, of life: CustomerLife) {
        let parameters = request.query.filter { $0.name != "revision" }.map { "\($0.name)=\($0.value)" }.sorted()
        let text = [life.appTransactionID, request.endpoint?.rawValue ?? ""] + parameters
        mark = String(decoding: Base64URL.encode(Array(Digest.sha256(Array(text.joined(separator: "&").utf8)).prefix(9))), as: UTF8.self)
        empties = Self.words(request).last.flatMap { Int($0) } ?? 0
    }

    /// The text of a revision.
    func text(_ position: Int64, isEmptied: Bool) -> String {
        String(decoding: Base64URL.encode(Array("\(mark) \(position) \(isEmptied ? empties + 1 : 0)".utf8)), as: UTF8.self)
    }

    /// The place behind which a request continues.
    func position(_ request: ServerAPIRequest) throws(ServerAPIError) -> Int64? {
        guard !request.values("revision").isEmpty else { return nil }
        let words = Self.words(request)
        guard words.count == 3, words[0] == mark, let position = Int64(words[1]) else { throw .revision }
        return position
    }

    private static func words(_ request: ServerAPIRequest) -> [String] {
        let text = request.values("revision").first.flatMap { Base64URL.decode(Array($0.utf8)) } ?? []
        return String(decoding: text, as: UTF8.self).split(separator: " ").map(String.init)
    }
}

/// The parameters of Transaction History.
private struct TransactionFilter {
    private static let typesByName: [String: ProductType] = [
        "AUTO_RENEWABLE": .autoRenewableSubscription, "NON_RENEWABLE": .nonRenewingSubscription, "CONSUMABLE": .consumable,
        "NON_CONSUMABLE": .nonConsumable,
    ]

    private let start: Int64?
    private let end: Int64?
    private let products: [String]
    private let types: [ProductType]
    private let groups: [String]
    private let ownership: InAppOwnershipType?
    private let isRevoked: Bool?
    let isDescending: Bool

    init(_ request: ServerAPIRequest) throws(ServerAPIError) {
        start = try Self.date("startDate", request, otherwise: .startDate)
        end = try Self.date("endDate", request, otherwise: .endDate)
        if let start, let end, start > end { throw .startDateAfterEndDate }
        products = request.values("productId")
        guard !products.contains("") else { throw .productID }
        let names = request.values("productType")
        types = names.compactMap { Self.typesByName[$0] }
        guard types.count == names.count else { throw .productType }
        groups = request.values("subscriptionGroupIdentifier")
        guard !groups.contains("") else { throw .subscriptionGroup }
        ownership = request.values("inAppOwnershipType").first.map { InAppOwnershipType(rawValue: $0) }
        guard ownership.map({ [.purchased, .familyShared, .assigned].contains($0) }) ?? true else { throw .ownership }
        let revoked = request.values("revoked").first
        isRevoked = revoked.map { $0 == "true" }
        guard revoked.map({ ["true", "false"].contains($0) }) ?? true else { throw .revoked }
        let sort = request.values("sort").first ?? "ASCENDING"
        isDescending = sort == "DESCENDING"
        guard isDescending || sort == "ASCENDING" else { throw .sort }
    }

    private static func date(_ name: String, _ request: ServerAPIRequest, otherwise error: ServerAPIError) throws(ServerAPIError) -> Int64?
    {
        guard let text = request.values(name).first else { return nil }
        guard let date = Int64(text), date >= 0 else { throw error }
        return date
    }

    func matches(_ charge: SimulatedTransaction) -> Bool {
        let date = charge.purchaseDate.millisecondsSince1970
        return (start.map { $0 <= date } ?? true) && (end.map { date < $0 } ?? true)
            && (products.isEmpty || products.contains(charge.product.id))
            && (types.isEmpty || types.contains(charge.product.type))
            && (groups.isEmpty || charge.product.subscriptionGroupID.map(groups.contains) ?? false)
            && (ownership.map { $0 == charge.ownership } ?? true)
            && (isRevoked.map { $0 == (charge.revocation != nil) } ?? true)
    }
}
