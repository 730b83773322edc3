public import FoundationEssentials
public import HeraldCore
import HeraldJSON
public import HeraldModel

extension Event {
    /// When the event happened, with millisecond precision.
    public var date: Date { Date(milliseconds: time) }

    /// Decodes the data.
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - decoder: `nil` for one that reads dates as RFC 3339 text, with or without a fraction.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder? = nil
    ) throws -> Value {
        try decodeJSON(type, data, decoder)
    }
}

extension EventUser {
    /// Decodes the JSON object `user` of the event; an event without one decodes as `null`.
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - decoder: `nil` for one that reads dates as RFC 3339 text, with or without a fraction.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder? = nil
    ) throws -> Value {
        try decodeJSON(type, data ?? Array("null".utf8), decoder)
    }
}

extension EventState {
    /// Decodes the state.
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - decoder: `nil` for one that reads dates as RFC 3339 text, with or without a fraction.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder? = nil
    ) throws -> Value {
        try decodeJSON(type, json, decoder)
    }
}

func decodeJSON<Value: Decodable>(
    _ type: Value.Type, _ json: some Collection<UInt8>, _ decoder: JSONDecoder?
) throws -> Value {
    try (decoder ?? .events).decode(type, from: Data(json))
}

extension JSONEncoder {
    /// Encodes the data of events, unless the app brings its own.
    static var events: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .rfc3339
        encoder.outputFormatting = .withoutEscapingSlashes
        return encoder
    }
}

extension JSONDecoder {
    /// Decodes the data of events, unless the app brings its own.
    static var events: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .rfc3339
        return decoder
    }
}

extension JSONEncoder.DateEncodingStrategy {
    /// Text by RFC 3339 with milliseconds, such as `2026-01-31T12:00:00.000Z`: the form of all times in the HTTP API. `iso8601` of
    /// Foundation drops the milliseconds.
    public static var rfc3339: Self {
        .custom { date, encoder in
            var container = encoder.singleValueContainer()
            let time = Timestamp(milliseconds: date.milliseconds)
            guard (Timestamp.earliest...Timestamp.latest).contains(time), !date.timeIntervalSince1970.isNaN else {
                let context = EncodingError.Context(
                    codingPath: encoder.codingPath, debugDescription: "A date must be in the years 0001 to 9999.")
                throw EncodingError.invalidValue(date, context)
            }
            try container.encode(time.description)
        }
    }
}

extension JSONDecoder.DateDecodingStrategy {
    /// Text by RFC 3339, with or without a fraction, in any time zone.
    public static var rfc3339: Self {
        .custom { decoder in
            let container = try decoder.singleValueContainer()
            guard let time = Timestamp(rfc3339: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "It must be an RFC 3339 time, such as 2026-01-31T12:00:00.000Z.")
            }
            return Date(milliseconds: time.milliseconds)
        }
    }
}
