import AppStore
import Randomness

extension CustomerLife {
    /// MIGRATION: the subscription is moved to the Advanced Commerce API.
    package mutating func migrate() throws(SimulationError) -> SimulatedNotification {
        var subscription = try activeContract(for: "MIGRATION")
        guard subscription.advancedCommerce == nil else { throw .impossible("MIGRATION", because: "the subscription is migrated already") }
        guard subscription.terms == PurchaseTerms() else { throw .impossible("MIGRATION", because: "it has seats or a commitment") }
        subscription.advancedCommerce = AdvancedCommerceDetails(
            requestReferenceID: generator.uuid(),
            sku: "\(subscription.current.product.id).item",
            displayName: "Simulated plan",
            itemDescription: "A plan of a simulated store",
            taxCode: "C003-00-2",
            period: subscription.current.product.period?.iso8601 ?? SubscriptionPeriod.months(1).iso8601
        )
        return advancedCommerceNotification(.migration, subscription)
    }

    /// METADATA_UPDATE: the item's name changes.
    package mutating func updateMetadata(displayName: String) throws(SimulationError) -> SimulatedNotification {
        var subscription = try migratedContract(for: "METADATA_UPDATE")
        subscription.advancedCommerce?.displayName = displayName
        return advancedCommerceNotification(.metadataUpdate, subscription)
    }

    /// PRICE_CHANGE: the price of the next renewal changes, in thousandths of the currency unit.
    package mutating func changePrice(to price: Int64) throws(SimulationError) -> SimulatedNotification {
        var subscription = try migratedContract(for: "PRICE_CHANGE")
        guard price >= 0 else { throw .impossible("PRICE_CHANGE", because: "the price \(price) is negative") }
        subscription.advancedCommerce?.scheduledPrice = price
        return advancedCommerceNotification(.priceChange, subscription)
    }

    private func migratedContract(for event: String) throws(SimulationError) -> SimulatedSubscription {
        let subscription = try activeContract(for: event)
        guard subscription.advancedCommerce != nil else { throw .impossible(event, because: "the subscription was not migrated") }
        return subscription
    }

    private mutating func advancedCommerceNotification(
        _ type: NotificationTypeV2,
        _ contract: SimulatedSubscription
    ) -> SimulatedNotification {
        subscription = contract
        var transaction = contract.current
        transaction.advancedCommerce = contract.advancedCommerce
        subscription?.current = transaction
        return notification(type, about: transaction)
    }
}
