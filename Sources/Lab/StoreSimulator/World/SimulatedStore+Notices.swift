package import AppStore
import FoundationEssentials
import Randomness

/// Notifications that are not about a customer.
extension SimulatedStore {
    /// TEST.
    package mutating func test() -> SimulatedNotification {
        notice(.test, content: .data(PurchaseState()))
    }

    /// RENEWAL_EXTENSION with SUMMARY: the result of extending many subscriptions.
    package mutating func extensionSummary(
        of product: SimulatedProduct? = nil,
        succeeded: Int64 = 5000,
        failed: Int64 = 23
    ) -> SimulatedNotification {
        let summary = ExtensionSummary(
            productID: product?.id ?? catalogue.plans.first?.id ?? "",
            requestIdentifier: generator.uuid().uuidString.lowercased(),
            storefrontCountryCodes: [app.storefront.countryCode],
            succeededCount: succeeded,
            failedCount: failed
        )
        return notice(.renewalExtension, .summary, content: .summary(summary))
    }

    /// EXTERNAL_PURCHASE_TOKEN with UNREPORTED, CREATED or ACTIVE_TOKEN_REMINDER.
    package mutating func externalPurchaseToken(_ subtype: Subtype) -> SimulatedNotification {
        let prefix = app.environment == .sandbox ? "SANDBOX_" : ""
        let token = ExternalToken(
            externalPurchaseID: prefix + generator.uuid().uuidString.lowercased(),
            creationDate: now.advanced(by: subtype == .created ? .zero : .seconds(-30 * 86_400))
        )
        return notice(.externalPurchaseToken, subtype, content: .externalPurchaseToken(token))
    }

    /// UNCLAIM_SEATS without `data`: `unclaimInfo` names the app itself.
    package mutating func unclaimSeats(_ count: Int = 1) -> SimulatedNotification {
        let seats = UnclaimedSeats(seatClaimIDs: (0..<count).map { _ in generator.uuid() })
        return notice(.unclaimSeats, content: .unclaimInfo(seats, nil))
    }

    private mutating func notice(
        _ type: NotificationTypeV2,
        _ subtype: Subtype? = nil,
        content: SimulatedNotification.Content
    ) -> SimulatedNotification {
        SimulatedNotification(
            type: type,
            subtype: subtype,
            notificationUUID: generator.uuid(),
            signedDate: now,
            app: app,
            content: content
        )
    }
}
