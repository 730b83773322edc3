/// The schema of schemas of dialect 2020-12, for schemas that refer to it: what a schema of the core, applicator,
/// validation and annotation vocabularies may be. Written after
/// https://json-schema.org/draft/2020-12/json-schema-core and json-schema-validation, as one resource.
enum Metaschema {
    static let uri = Dialect.draft2020.rawValue
    static let value: JSONValue? = try? JSONDocument(parsing: text).root

    private static let text = ##"""
        {
          "$id": "https://json-schema.org/draft/2020-12/schema",
          "$dynamicAnchor": "meta",
          "type": ["object", "boolean"],
          "properties": {
            "$schema": {"type": "string"}, "$id": {"type": "string", "pattern": "^[^#]*#?$"},
            "$ref": {"type": "string"}, "$dynamicRef": {"type": "string"},
            "$anchor": {"$ref": "#/$defs/anchor"}, "$dynamicAnchor": {"$ref": "#/$defs/anchor"},
            "$vocabulary": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "$comment": {"type": "string"}, "$defs": {"$ref": "#/$defs/schemas"},
            "title": {"type": "string"}, "description": {"type": "string"}, "examples": {"type": "array"},
            "deprecated": {"type": "boolean"}, "readOnly": {"type": "boolean"}, "writeOnly": {"type": "boolean"},
            "type": {
              "anyOf": [
                {"$ref": "#/$defs/type"},
                {"type": "array", "items": {"$ref": "#/$defs/type"}, "minItems": 1, "uniqueItems": true}
              ]
            },
            "enum": {"type": "array"},
            "minimum": {"type": "number"}, "maximum": {"type": "number"}, "exclusiveMinimum": {"type": "number"},
            "exclusiveMaximum": {"type": "number"}, "multipleOf": {"type": "number", "exclusiveMinimum": 0},
            "minLength": {"$ref": "#/$defs/count"}, "maxLength": {"$ref": "#/$defs/count"},
            "minItems": {"$ref": "#/$defs/count"}, "maxItems": {"$ref": "#/$defs/count"},
            "minProperties": {"$ref": "#/$defs/count"}, "maxProperties": {"$ref": "#/$defs/count"},
            "minContains": {"$ref": "#/$defs/count"}, "maxContains": {"$ref": "#/$defs/count"},
            "pattern": {"type": "string"}, "format": {"type": "string"}, "uniqueItems": {"type": "boolean"},
            "contentEncoding": {"type": "string"}, "contentMediaType": {"type": "string"},
            "contentSchema": {"$dynamicRef": "#meta"},
            "required": {"$ref": "#/$defs/names"},
            "dependentRequired": {"type": "object", "additionalProperties": {"$ref": "#/$defs/names"}},
            "properties": {"$ref": "#/$defs/schemas"}, "patternProperties": {"$ref": "#/$defs/schemas"},
            "dependentSchemas": {"$ref": "#/$defs/schemas"},
            "additionalProperties": {"$dynamicRef": "#meta"}, "propertyNames": {"$dynamicRef": "#meta"},
            "unevaluatedProperties": {"$dynamicRef": "#meta"}, "unevaluatedItems": {"$dynamicRef": "#meta"},
            "items": {"$dynamicRef": "#meta"}, "contains": {"$dynamicRef": "#meta"},
            "prefixItems": {"$ref": "#/$defs/list"}, "allOf": {"$ref": "#/$defs/list"},
            "anyOf": {"$ref": "#/$defs/list"}, "oneOf": {"$ref": "#/$defs/list"},
            "not": {"$dynamicRef": "#meta"}, "if": {"$dynamicRef": "#meta"}, "then": {"$dynamicRef": "#meta"},
            "else": {"$dynamicRef": "#meta"}
          },
          "$defs": {
            "anchor": {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"},
            "count": {"type": "integer", "minimum": 0},
            "names": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
            "type": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]},
            "schemas": {"type": "object", "additionalProperties": {"$dynamicRef": "#meta"}},
            "list": {"type": "array", "minItems": 1, "items": {"$dynamicRef": "#meta"}}
          }
        }
        """##
}
