package import StrictJSON

/// A JSON object of Apple's with known members; `null` counts as absent, unknown members are ignored.
package protocol PayloadObject: Hashable, Sendable {
    /// The decoded members, by Apple's names.
    associatedtype Member: CaseIterable & RawRepresentable<String>

    /// The known members that this version cannot read, at any depth. They count as absent, unless their absence would mean something.
    var odd: [MalformedPayload] { get }

    /// The values that this version does not know, at any depth. A payload without an ``OpenValue`` has none.
    var unknown: [UnknownValue] { get }

    /// Decodes the known members that can be read.
    init(decoding json: JSONObject)
}

extension PayloadObject {
    package var unknown: [UnknownValue] { [] }

    /// Decodes the known members; throws for the first that cannot be read.
    package init(_ json: JSONObject) throws(MalformedPayload) {
        self.init(decoding: json)
        if let first = odd.first { throw first }
    }
}

extension [MalformedPayload] {
    /// The first that is at one of these places, numbers left out.
    package func first(at kinds: Set<String>) -> String? { lazy.map(\.kind).first { kinds.contains($0) } }

    /// The place of the first whose own name, without the objects around it, is one of these.
    package func first(named names: Set<String>) -> String? { first { names.contains($0.member) }?.kind }
}

/// A known member of a payload has the wrong JSON type or a value out of range.
package struct MalformedPayload: Error, Hashable, Sendable {
    /// Where the member is: `data.status`, `items[2].price`.
    package let path: String
    /// What the member should be, for instance `a string`; never the value itself.
    package let expectation: String

    package init(path: String, expectation: String) {
        self.path = path
        self.expectation = expectation
    }

    /// The same error with a path from the enclosing object.
    package func inside(_ outerPath: String) -> MalformedPayload {
        MalformedPayload(path: "\(outerPath).\(path)", expectation: expectation)
    }

    /// The path without numbers, one for all elements of an array: `items[].price`.
    package var kind: String {
        guard path.utf8.contains(UInt8(ascii: "[")) else { return path }
        return path.split(separator: "[", omittingEmptySubsequences: false).enumerated()
            .map { index, part in index == 0 ? String(part) : "[" + part.drop { $0.isNumber } }.joined()
    }

    /// The member itself, without the objects around it. A date in milliseconds is the date.
    var member: String {
        let name = kind.split(separator: ".").last.map(String.init) ?? ""
        let plain = name.hasSuffix("[]") ? String(name.dropLast(2)) : name
        return plain.hasSuffix("_ms") ? String(plain.dropLast(3)) : plain
    }
}

extension MalformedPayload: CustomStringConvertible {
    package var description: String {
        "payload: \(path) is not \(expectation)"
    }
}

/// A value from one of Apple's lists, which grow without notice: unknown values are kept, never refused.
package protocol OpenValue: RawRepresentable, Hashable, Sendable {
    var rawValue: RawValue { get }
    init(rawValue: RawValue)

    /// The values that this version knows.
    static var known: Set<Self> { get }
}

extension OpenValue {
    package var isKnown: Bool { Self.known.contains(self) }
}

/// A value of one of Apple's lists that this version does not know. The payload keeps it.
package struct UnknownValue: Hashable, Sendable {
    /// Where the value is: `data.status`.
    package let path: String
    /// A number as its digits.
    package let value: String

    package init(path: String, value: String) {
        self.path = path
        self.value = value
    }

    /// The same value with a path from the enclosing object.
    package func inside(_ outerPath: String) -> UnknownValue { UnknownValue(path: "\(outerPath).\(path)", value: value) }
}

/// The App Store environment of a payload. Data of different environments never mixes.
package struct AppStoreEnvironment: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Real purchases with real money.
    package static let production = AppStoreEnvironment(rawValue: "Production")
    /// Test purchases: development, TestFlight and App Review.
    package static let sandbox = AppStoreEnvironment(rawValue: "Sandbox")
    /// StoreKit testing in Xcode; not signed by Apple.
    package static let xcode = AppStoreEnvironment(rawValue: "Xcode")
    /// StoreKit testing on a device; not signed by Apple.
    package static let localTesting = AppStoreEnvironment(rawValue: "LocalTesting")

    package static let known: Set = [production, sandbox, xcode, localTesting]
}

/// The kind of a signed payload, recognised by its members.
///
/// The signature does not distinguish kinds: the same certificate signs all of them. Each kind has members of its own. A payload with such
/// members of two kinds, or without the required ones of its kind, has no kind.
package enum SignedPayloadKind: String, CaseIterable, Sendable {
    case notification
    case transaction
    case renewalInfo = "renewal-info"
    case appTransaction = "app-transaction"

    /// The kind of a payload, `nil` when the members do not determine one; `null` counts as absent.
    package static func of(_ object: JSONObject) -> SignedPayloadKind? {
        func has(_ name: String) -> Bool { object[name].map { $0 != .null } ?? false }
        let isNotification = has("notificationType") || has("notificationUUID")
        let isTransaction = has("transactionId")
        let isRenewalInfo = has("autoRenewStatus") || has("autoRenewProductId")
        let isAppTransaction = has("receiptType") || has("originalApplicationVersion")
        switch (isNotification, isTransaction, isRenewalInfo, isAppTransaction) {
        case (true, false, false, false): return has("notificationType") && has("notificationUUID") ? .notification : nil
        case (false, true, false, false): return has("originalTransactionId") ? .transaction : nil
        case (false, false, true, false): return has("originalTransactionId") ? .renewalInfo : nil
        case (false, false, false, true): return has("receiptType") && !has("originalTransactionId") ? .appTransaction : nil
        default: return nil
        }
    }
}

/// A value behind a reference, so that copying costs one retain whatever the number of members.
package final class SharedValue<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) {
        self.value = value
    }
}
