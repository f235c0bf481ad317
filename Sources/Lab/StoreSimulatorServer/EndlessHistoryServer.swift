package import AppStore
import FoundationEssentials
import NIOHTTP1
package import StoreSimulator
import StrictJSON

/// A notification history of any length on the loopback interface: its records are made when they are asked for. It checks no token and has
/// no limit.
package final class EndlessHistoryServer: Sendable {
    /// What the history of each app lists.
    package struct Content: Sendable {
        /// The signing date of the first record.
        package var first: Timestamp
        /// How many milliseconds lie between two records.
        package var step: Int64
        /// The records of an app.
        package var count: Int
        /// The signedPayload of an app's record with this number.
        package var payload: @Sendable (_ bundleID: String, _ number: Int, _ signedDate: Timestamp) throws -> [UInt8]

        package init(
            first: Timestamp,
            step: Int64,
            count: Int,
            payload: @escaping @Sendable (_ bundleID: String, _ number: Int, _ signedDate: Timestamp) throws -> [UInt8]
        ) {
            self.first = first
            self.step = step
            self.count = count
            self.payload = payload
        }

        func date(of number: Int) -> Timestamp { first.advanced(by: .milliseconds(Int64(number) * step)) }

        /// The number of the first record that is not before an instant.
        func number(at instant: Int64) -> Int {
            min(count, max(0, Int((instant - first.millisecondsSince1970 + step - 1) / step)))
        }
    }

    /// Apple's size of a page.
    package static let pageSize = 20

    private let hosts = SimulatedHosts<AppStoreEnvironment>()
    private let content: Content

    private init(_ content: Content) {
        self.content = content
    }

    /// Runs `body` with the address of a server, which is stopped afterwards.
    package static func with<T: Sendable>(
        _ content: Content,
        _ identity: SimulatedHostIdentity,
        _ body: (_ address: String) async throws -> T
    ) async throws -> T {
        let server = EndlessHistoryServer(content)
        try await server.hosts.listen(as: .production, port: 0, identity) { head, body in (server.reply(to: head, body), {}) }
        return try await server.hosts.whileServing { try await body("https://localhost:\(server.hosts.port(of: .production) ?? 0)") }
    }

    private func reply(to head: HTTPRequestHead, _ body: [UInt8]) -> SimulatedReply {
        do {
            let token = (head.headers.first(name: "authorization") ?? "").split(separator: " ").last ?? ""
            let claims = try JSONParser().parseObject(CompactJWS(Array(token.utf8)).payload)
            let window = try JSONParser().parseObject(body)
            guard case .string(let bundleID)? = claims["bid"], case .number(let start)? = window["startDate"],
                case .number(let end)? = window["endDate"]
            else { return SimulatedReply(status: 400) }
            let query = URLComponents(string: head.uri)?.queryItems ?? []
            let next = query.first { $0.name == "paginationToken" }?.value.flatMap { Int($0) }
            let last = content.number(at: end.int64 ?? 0)
            let page = (next ?? content.number(at: start.int64 ?? 0))..<last
            return try reply(bundleID, page)
        } catch {
            return SimulatedReply(status: 500)
        }
    }

    private func reply(_ bundleID: String, _ rest: Range<Int>) throws -> SimulatedReply {
        let page = rest.prefix(Self.pageSize)
        let records = try page.map { number -> JSONValue in
            let date = content.date(of: number)
            let payload = String(decoding: try content.payload(bundleID, number, date), as: UTF8.self)
            let attempt: JSONValue = ["attemptDate": .integer(date.millisecondsSince1970), "sendAttemptResult": "TIMED_OUT"]
            return ["signedPayload": .string(payload), "sendAttempts": [attempt]]
        }
        var answer: JSONObject = ["notificationHistory": .array(records), "hasMore": .bool(page.count < rest.count)]
        if page.count < rest.count { answer["paginationToken"] = .string(String(page.endIndex)) }
        return SimulatedReply(answer)
    }
}
