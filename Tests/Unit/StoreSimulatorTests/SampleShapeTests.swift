import AppStore
import Foundation
import StoreSimulator
import StrictJSON
import Testing

private let samplesFolder = ProcessInfo.processInfo.environment["APPSTORE_INBOX_SAMPLES"]

/// Compares with payloads that Apple signed, in the folder APPSTORE_INBOX_SAMPLES; skipped if it is not set.
@Suite(.enabled(if: samplesFolder != nil, "APPSTORE_INBOX_SAMPLES names no folder of samples"))
struct SampleShapeTests {
    @Test(arguments: [
        ("02-TEST.jws", "TEST"), ("05-ONE_TIME_CHARGE.jws", "ONE_TIME_CHARGE"), ("10-DID_RENEW.jws", "DID_RENEW"),
        ("11-EXPIRED-VOLUNTARY.jws", "EXPIRED/VOLUNTARY"),
    ])
    func `a simulated notification has the members of a real one, in order and with their types`(file: String, kind: String) throws {
        let folder = try #require(samplesFolder)
        let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
        let real = try CompactJWS(Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)).object
        let notification = try NotificationTrigger(NotificationKind(kind), app: .testSandbox, now: .testNow, seed: 1).notification()
        let simulated = try CompactJWS(try Genuine.signer.sign(notification).jws).object
        try compare(simulated, with: real, at: kind)
    }

    /// Some of the samples are older than appTransactionId and appAppleId.
    private func compare(_ simulated: JSONObject, with real: JSONObject, at path: String) throws {
        let newer: Set = ["appTransactionId", "appAppleId"]
        let names = simulated.members.map(\.name).filter { real[$0] != nil || !newer.contains($0) }
        #expect(names == real.members.map(\.name), "\(path)")
        for member in real.members {
            switch (member.value, simulated[member.name]) {
            case (.object(let inner), .object(let outer)): try compare(outer, with: inner, at: "\(path).\(member.name)")
            case (.string(let one), .string(let two)) where one.hasPrefix("eyJ"):
                try compare(
                    try CompactJWS(Array(two.utf8)).object,
                    with: try CompactJWS(Array(one.utf8)).object,
                    at: "\(path).\(member.name)"
                )
            case (.string, .string), (.number, .number), (.bool, .bool): break
            default: Issue.record("\(path).\(member.name) is of another type")
            }
        }
    }
}
