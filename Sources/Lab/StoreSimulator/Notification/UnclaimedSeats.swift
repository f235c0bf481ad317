import AppStore
package import FoundationEssentials
import StrictJSON

/// The seat claims that the store gave back, `unclaimInfo` (appstoreservernotifications/unclaiminfo).
package struct UnclaimedSeats: Hashable, Sendable {
    /// The identifiers that Claim Seat returned (appstoreservernotifications/unclaimseatids).
    package var seatClaimIDs: [UUID]

    /// - Parameter app: the app that the object itself names; nil if the notification's `data` does.
    func payload(naming app: SimulatedApp?) -> JSONObject {
        var json = JSONObject()
        if let app {
            json.add("appAppleId", app.appAppleID)
            json.add("bundleId", app.bundleID)
            json.add("environment", app.environment.rawValue)
        }
        json["unclaimSeatIds"] = .array(seatClaimIDs.map { .string($0.uuidString.lowercased()) })
        return json
    }
}
