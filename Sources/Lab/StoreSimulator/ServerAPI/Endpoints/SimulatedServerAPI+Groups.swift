import AppStore
package import FoundationEssentials
import StrictJSON

/// Get Customer Groups, Get Group Members and Get Seat Info.
///
/// Apple says that these are in Sandbox only, and not what Production answers: here it is a 404 without a body.
extension SimulatedServerAPI {
    /// A group that a customer pays for, and whose invitations Apple hosts.
    package struct ConsumerGroup: Hashable, Sendable {
        /// At most 20 digits.
        package let id: String
        /// The appTransactionIds of its members, in the order of its pages.
        package var members: [String]

        package init(id: String, members: [String]) {
            self.id = id
            self.members = members
        }
    }

    /// The seats of a subscription whose invitations the app hosts.
    package struct Seats: Hashable, Sendable {
        package var total: Int
        /// The seatClaimIds; more than the seats, after a renewal with fewer.
        package var claims: [UUID]

        package init(total: Int, claims: [UUID]) {
            self.total = total
            self.claims = claims
        }
    }

    /// Stores a group, in the place of the one with its id.
    package mutating func hold(_ group: ConsumerGroup, at place: ServerAPIPlace) {
        places[place, default: ServerAPIBooks()].groups[group.id] = group
    }

    /// Stores the seats of the subscription with this originalTransactionId, whose purchaser is held, too.
    package mutating func hold(_ seats: Seats, of originalTransactionID: String, at place: ServerAPIPlace) {
        places[place, default: ServerAPIBooks()].seats[originalTransactionID] = seats
    }

    func customerGroups(_ task: ServerAPITask) throws -> SimulatedReply {
        guard task.place.environment == .sandbox else { return SimulatedReply(status: 404) }
        let id = try customer(of: Self.transactionID(task.arguments[0]), task).1.life.appTransactionID
        let groups = (places[task.place]?.groups ?? [:]).values.filter { $0.members.contains(id) }.sorted { $0.id < $1.id }
        let entries: [JSONValue] = groups.map { ["groupId": .string($0.id), "groupType": "CONSUMER"] }
        return SimulatedReply(["groups": .array(entries.isEmpty ? [Self.placeholder] : entries)] as JSONObject)
    }

    func groupMembers(_ task: ServerAPITask) throws -> SimulatedReply {
        guard task.place.environment == .sandbox else { return SimulatedReply(status: 404) }
        let id = try Self.transactionID(task.arguments[0], otherwise: .groupID)
        let size = try task.request.values("limit").first.map { text throws(ServerAPIError) in
            guard let limit = Int(text), (1...100).contains(limit) else { throw .limit }
            return limit
        }
        guard let members = id == Self.placeholderID ? [Self.placeholderMember] : places[task.place]?.groups[id]?.members else {
            throw ServerAPIError.groupNotFound
        }
        let start = try task.request.values("paginationToken").first.map { token throws(ServerAPIError) in
            guard let start = Self.position(token, in: id), start < members.count else { throw .paginationToken }
            return start
        }
        let page = members.dropFirst(start ?? 0).prefix(size ?? options.pageSize)
        var answer: JSONObject = [
            "members": .array(page.map { ["appTransactionId": .string($0)] }), "hasMore": .bool(page.endIndex < members.count),
        ]
        if page.endIndex < members.count { answer["paginationToken"] = .string(Self.token(page.endIndex, in: id)) }
        return SimulatedReply(answer)
    }

    func seatInfo(_ task: ServerAPITask) throws -> SimulatedReply {
        guard task.place.environment == .sandbox else { return SimulatedReply(status: 404) }
        let id = try Self.transactionID(task.arguments[0])
        _ = try transaction(id, task)
        guard let seats = places[task.place]?.seats[id] else { throw ServerAPIError.notDeveloperHosted }
        return SimulatedReply(
            [
                "totalSeatCount": .integer(Int64(seats.total)),
                "availableSeatCount": .integer(Int64(max(0, seats.total - seats.claims.count))),
                "assignedSeatClaimIds": .array(seats.claims.map { .string($0.uuidString.lowercased()) }),
            ] as JSONObject
        )
    }

    private static let placeholderID = "900000000000000000"
    private static let placeholderMember = "700000000000000000"

    /// What Sandbox says of a customer without a group of a consumer.
    private static let placeholder: JSONValue = [
        "groupId": .string(placeholderID), "groupType": "ORGANIZATION",
        "roles": [
            ["productId": "example.productId.one", "role": "ADMIN"], ["productId": "example.productId.two", "role": "NONE"],
        ],
    ]

    /// A token of the page that begins at a member.
    private static func token(_ position: Int, in group: String) -> String {
        String(decoding: Base64URL.encode(Array("\(group) \(position)".utf8)), as: UTF8.self)
    }

    /// The member where the page of a token begins; nil for a token of another group, and for none.
    private static func position(_ token: String, in group: String) -> Int? {
        let words = String(decoding: Base64URL.decode(Array(token.utf8)) ?? [], as: UTF8.self).split(separator: " ")
        guard words.count == 2, words[0] == group, let position = Int(words[1]), position >= 0 else { return nil }
        return position
    }
}
