import Postgres

extension EndpointLease {
    init(_ row: Row) throws {
        self.init(
            name: try row.decode("name"),
            endpointID: try row.decode("endpoint_id"),
            epoch: try row.decode("epoch"),
            settings: try EndpointSettings(row),
            position: try row.decode("position"),
            failures: Int(try row.decode("failures", as: Int32.self)),
            failingFor: try row.duration("failing_since_ms"),
            openFor: try row.duration("open_for_ms"),
            probes: Int(try row.decode("probes", as: Int32.self))
        )
    }
}

extension EndpointSettings {
    init(_ row: Row) throws {
        self.init(
            url: try row.decode("url"),
            keepsOrder: try row.decode("keeps_order"),
            window: Int(try row.decode("max_in_flight", as: Int32.self)),
            perSecond: try row.decode("max_per_second", as: Int32?.self).map { Int($0) },
            timeout: .seconds(Int(try row.decode("timeout_seconds", as: Int32.self))),
            secretGeneration: Int(try row.decode("secret_generation", as: Int32.self)),
            hasPreviousSecret: try row.decode("previous_secret")
        )
    }
}

extension FeedEntry {
    init(_ row: Row, _ kind: Kind, at position: Int64) throws {
        self.init(
            kind: kind,
            position: position,
            redeliveryID: try row.decode("redelivery_id"),
            id: try row.decode("id"),
            type: try row.decode("type"),
            subject: try row.decode("subject"),
            attempts: Int(try row.decode("attempts", as: Int32.self)),
            heldFor: try row.duration("held_ms"),
            body: try row.decode("body_missing") ? nil : row.decode("body")
        )
    }
}

extension Row {
    fileprivate func duration(_ column: String) throws -> Duration? {
        try decode(column, as: Int64?.self).map { .milliseconds($0) }
    }
}
