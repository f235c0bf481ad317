package import StrictJSON

/// Something that goes wrong with one call of the App Store Server API.
package enum ServerAPIFault: Hashable, Sendable {
    // Instead of the call:

    /// An error in Apple's form, such as 5000000, 4040010 for a transaction that is found later, 4000017, or an unknown code.
    case error(Int)
    /// An HTML page, as of a gateway.
    case page(status: Int, retryAfter: String? = nil)
    /// 401 without a body.
    case unauthorized
    case redirect(to: String)
    /// The connection is reset. On a connection that was kept open, this is what a client sees of a server that closed it.
    case reset

    // After the call, of a good answer:

    /// The answer is sent in this manner: cut off, trickling, late, or never.
    case manner(SimulatedReply.Manner)
    /// The body is padded with spaces to this number of bytes.
    case padded(to: Int)
    /// Every object has a member more.
    case unknownMembers
    /// Statuses and results of attempts that Apple has not documented.
    case unknownValues
    /// A member of the answer has another value, or (nil) is missing: another bundleId, an absent hasMore.
    case member(String, JSONValue?)
    /// `hasMore` with an empty page, and a new token or revision for the same place.
    case emptyPage
    /// `hasMore` without a token or revision.
    case withoutToken
    /// `hasMore` with the token or revision of the request.
    case repeatedToken
    /// The header Date differs from the server's time.
    case date(skewedBy: Duration)

    /// The response instead of the call's own; nil when the call is made.
    var replacement: SimulatedReply? {
        switch self {
        case .error(let code):
            return SimulatedReply(ServerAPIError(code, "Simulated error."))
        case .page(let status, let retryAfter):
            var reply = SimulatedReply(status: status, contentType: "text/html", body: "<html><body>Service Unavailable</body></html>")
            if let retryAfter { reply.headers.append(.init(name: "retry-after", value: retryAfter)) }
            return reply
        case .unauthorized:
            return SimulatedReply(status: 401)
        case .redirect(let address):
            var reply = SimulatedReply(status: 302)
            reply.headers.append(.init(name: "location", value: address))
            return reply
        case .reset:
            var reply = SimulatedReply(status: 500)
            reply.manner = .reset
            return reply
        case .manner, .padded, .unknownMembers, .unknownValues, .member, .emptyPage, .withoutToken, .repeatedToken, .date:
            return nil
        }
    }

    /// Changes the response of the call.
    func change(_ reply: inout SimulatedReply, to request: ServerAPIRequest) {
        switch self {
        case .manner(let manner): reply.manner = manner
        case .padded(let count): reply.body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, count - reply.body.count))
        case .unknownMembers: changeJSON(of: &reply) { $0 = Self.addingMembers(to: $0) }
        case .unknownValues: changeJSON(of: &reply) { $0 = Self.changingValues(of: $0) }
        case .member(let name, let value): changeMembers(of: &reply) { $0[name] = value }
        case .withoutToken, .repeatedToken: changeMembers(of: &reply) { changePage(&$0, request) }
        case .error, .page, .unauthorized, .redirect, .reset, .date, .emptyPage: break
        }
    }

    private func changePage(_ page: inout JSONObject, _ request: ServerAPIRequest) {
        let token = page["revision"] == nil && page["signedTransactions"] == nil ? "paginationToken" : "revision"
        page["hasMore"] = true
        page[token] = self == .withoutToken ? nil : request.values(token).first.map(JSONValue.string) ?? page[token]
    }

    private func changeMembers(of reply: inout SimulatedReply, _ change: (inout JSONObject) -> Void) {
        changeJSON(of: &reply) { value in
            guard case .object(var members) = value else { return }
            change(&members)
            value = .object(members)
        }
    }

    private func changeJSON(of reply: inout SimulatedReply, _ change: (inout JSONValue) -> Void) {
        do {
            var value = try JSONParser().parse(reply.body)
            change(&value)
            reply.body = JSONSerializer.serialize(value)
        } catch {
            // An empty body has no members.
            return
        }
    }

    private static func addingMembers(to value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var changed = JSONObject(object.members.map { ($0.name, addingMembers(to: $0.value)) })
            changed["addedLater"] = ["kind": "UNKNOWN", "values": [1, 2]]
            return .object(changed)
        case .array(let elements): return .array(elements.map(addingMembers))
        case .null, .bool, .number, .string: return value
        }
    }

    private static func changingValues(of value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            return .object(
                JSONObject(
                    object.members.map { member -> (String, JSONValue) in
                        switch member.name {
                        case "status": (member.name, 9)
                        case "sendAttemptResult": (member.name, "SOMETHING_NEW")
                        default: (member.name, changingValues(of: member.value))
                        }
                    }
                )
            )
        case .array(let elements): return .array(elements.map(changingValues))
        case .null, .bool, .number, .string: return value
        }
    }
}
