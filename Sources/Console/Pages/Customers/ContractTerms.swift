package import StrictJSON

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
