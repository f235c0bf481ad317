import AppStore
import Foundation
import StoreSimulator
import StrictJSON
import Testing

/// Compares simulated payloads with the members that Apple documents, which `documented.json` lists with their sources.
struct DocumentedShapeTests {
    private static let payloads = Result {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "AppStoreTests/Documented/documented.json")
        return try JSONParser().parseObject([UInt8](Data(contentsOf: file)))["payloads"]?.object ?? [:]
    }

    @Test(arguments: NotificationTrigger.scenarios.map(\.kind))
    func `each member of a simulated payload is documented, and has the documented type`(kind: String) throws {
        let notification = try NotificationTrigger(NotificationKind(kind), app: .test, now: .testNow, seed: 1).notification()
        let payload = try CompactJWS(try Genuine.signer.sign(notification).jws).object
        // Only the members of unclaimInfo that name the app are a guess.
        var odd = kind == "UNCLAIM_SEATS:bare" ? ["unclaimInfo.appAppleId", "unclaimInfo.bundleId", "unclaimInfo.environment"] : []
        try check(payload, as: "responseBodyV2DecodedPayload", &odd)
        #expect(odd.isEmpty == (kind != "UNCLAIM_SEATS:bare") && odd.count <= 3, "\(odd)")
    }

    /// Adds the paths of members that are not documented, or of another type.
    private func check(_ json: JSONObject, as name: String, _ odd: inout [String]) throws {
        let facts = try #require(try Self.payloads.get()[name]?.list, "\(name) is not documented").compactMap(\.object)
        for member in json.members {
            let path = "\(name).\(member.name)"
            guard let kind = facts.first(where: { $0["member"]?.string == member.name })?["kind"]?.string else {
                if !odd.contains(path) { odd.append(path) }
                continue
            }
            if try !fits(member.value, kind, &odd) { odd.append("\(path): \(kind)") }
            let nested = [
                "signedTransactionInfo": "JWSTransactionDecodedPayload", "signedRenewalInfo": "JWSRenewalInfoDecodedPayload",
                "signedAppTransactionInfo": "JWSAppTransactionDecodedPayload",
            ]
            if let nested = nested[member.name] { try check(member.value.payload, as: nested, &odd) }
        }
    }

    private func fits(_ value: JSONValue, _ kind: String, _ odd: inout [String]) throws -> Bool {
        if kind.hasPrefix("array of ") {
            let element = String(kind.dropFirst(9))
            return try value.list?.allSatisfy { try fits($0, isObject(element) ? "object \(element)" : element, &odd) } ?? false
        }
        if kind.hasPrefix("object ") {
            guard let object = value.object else { return false }
            try check(object, as: String(kind.dropFirst(7)), &odd)
            return true
        }
        return switch kind {
        case "string": value.string != nil
        case "uuid": value.string.flatMap(UUID.init(uuidString:)) != nil && value.string == value.string?.lowercased()
        case "integer": value.integer != nil
        case "date-ms": value.integer.map { $0 > 1_000_000_000_000 } ?? false
        case "boolean": value.bool != nil
        default: false
        }
    }

    private func isObject(_ kind: String) throws -> Bool { try Self.payloads.get()[kind] != nil }
}
